"""A preview on a terminal: an overview, and for objects that go alike a calendar of blocks with their changes. Pure."""

from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

from rich.text import Text

from keda_py.preview.pages.followers import drawn, followers, most
from keda_py.replay.days import BLOCKS, Day, days_of
from keda_py.replay.previews import Preview, Subject
from keda_py.replay.timeline import WEEK_SECONDS, Step, Timeline
from keda_py.terminal.foreign import printable
from keda_py.terminal.table import Column, draw_table
from keda_py.terminal.wrapping import wrap

MOST_GROUPS = 6
"""Calendars that are drawn; more objects stand in the overview alone."""
MOST_CHANGES = 14
_MOST_MEMBERS = 10
_LABEL = 11
_OVERVIEW = (
    Column(heading="object", cuts=True),
    Column(heading="up h/week"),
    Column(heading="replica h/week", goes=1),
    Column(heading="next change"),
    Column(heading="", wraps=True, goes=2),
)
_CHANGES = (Column(heading="when"), Column(heading="replicas"), Column(heading="why", wraps=True))


def page(preview: Preview, zone: ZoneInfo, width: int) -> Text:
    """Draw the overview and the calendars, `width` cells wide."""
    parts = [_head(preview, zone)]
    groups = list(_groups(drawn(preview.subjects)))
    if len(preview.subjects) > 1:
        rows = [_row(subject, zone) for subject in preview.subjects]
        parts.append(draw_table(_OVERVIEW, [*rows, *_sum(preview)], width))
    parts += [_sentence(printable(warning), width, "yellow") for warning in preview.warnings]
    if len(groups) <= MOST_GROUPS:
        parts += [_details(group, preview.subjects, zone, width) for group in groups]
    else:
        parts.append(_sentence("calendars are drawn for a few objects: name their files, or their namespace", width))
    parts += [_sentence(f"not previewed: {problem}", width, "red") for problem in preview.problems]
    return Text("\n\n", end="").join(parts)


def _head(preview: Preview, zone: ZoneInfo) -> Text:
    if not preview.subjects:
        return Text("nothing here is scaled: no ScaledObject, no Environment")
    first, last = (at.astimezone(zone) for at in (preview.begins, preview.ends))
    return Text(f"{first:%a %d %b %Y %H:%M} to {last:%a %d %b %Y %H:%M} {zone.key}", "bold")


def _row(subject: Subject, zone: ZoneInfo) -> tuple[str, ...]:
    timeline = subject.timeline
    following = next(iter(timeline.moves), None)
    change = "none" if following is None else f"{following.at.astimezone(zone):%a %H:%M} {_arrow(subject, following)}"
    return (
        printable(f"{subject.kind} {subject.title}"),
        f"{timeline.a_week(timeline.up_seconds):.1f}",
        "" if not subject.has_count else f"{timeline.a_week(timeline.replica_seconds):.1f}",
        change,
        _remark(subject),
    )


def _sum(preview: Preview) -> Iterator[tuple[str, ...]]:
    """Sum replica hours up, beside those of the same counts all the time."""
    counted = [subject.timeline for subject in preview.subjects if subject.has_count]
    if counted:
        hours = sum(one.a_week(one.replica_seconds) for one in counted)
        always = sum(most(one) * WEEK_SECONDS / 3600 for one in counted)
        share = f"{hours / always:.0%} of {always:.1f} without sleep" if always else ""
        yield ("sum", "", f"{hours:.1f}", "", share)


def _remark(subject: Subject) -> str:
    remarks = [] if subject.settles else ["never settles"]
    remarks += [f"at least: {', '.join(subject.timeline.assumes)} may ask for more"] if subject.timeline.assumes else []
    remarks += [f"[{finding.code}]" for finding in subject.findings]
    return printable(", ".join(remarks))


def _groups(subjects: Sequence[Subject]) -> Iterator[list[Subject]]:
    """Group objects that have the same counts at all times."""
    alike: dict[object, list[Subject]] = {}
    for subject in subjects:
        key = (subject.kind, subject.timeline, subject.notes, subject.findings, subject.remarks)
        alike.setdefault(key, []).append(subject)
    yield from alike.values()


def _details(group: Sequence[Subject], others: Sequence[Subject], zone: ZoneInfo, width: int) -> Text:
    subject = group[0]
    more = f" and {len(group) - 3} more" if len(group) > 3 else ""
    names = f"{subject.kind} {', '.join(one.title for one in group[:3])}{more}"
    lines = [_sentence(printable(names), width, "bold")]
    if subject.kind == "Environment":
        lines += [_sentence(f"  {printable(text)}", width, "dim") for text in _members(subject, others)]
    lines += [_sentence(f"  {printable(remark)}", width, "dim") for remark in subject.remarks]
    lines += [_sentence(f"  window: {note}", width, "dim") for note in subject.notes]
    if subject.timeline.assumes:
        text = f"  taken to have no work: {', '.join(subject.timeline.assumes)}; what they ask for comes on top"
        lines.append(_sentence(text, width, "dim"))
    lines += [_sentence(f"  {_coded(finding.message, finding.code)}", width, "yellow") for finding in subject.findings]
    if not subject.settles:
        steps = len(subject.timeline.steps)
        text = f"  it never settles: after {steps} changes nothing is told, and its hours are not known"
        lines.append(_sentence(text, width, "red"))
    lines.append(Text(" " * _LABEL + "".join(f"{hour:02}".ljust(8) for hour in range(0, 24, 4)) + "24", "dim"))
    lines += [_blocks(day, subject, zone) for day in days_of(subject.timeline, zone)]
    changes = _changes(subject, zone, width)
    return Text("\n", end="").join(lines if changes is None else [*lines, Text(), changes])


def _members(environment: Subject, others: Sequence[Subject]) -> Iterator[str]:
    """Name the objects that go with it, with their own remarks."""
    following = followers(environment, others)
    if following:
        names = [f"{one.kind} {one.name}{f' ({most(one.timeline)})' if one.has_count else ''}" for one in following]
        more = f" and {len(names) - _MOST_MEMBERS} more" if len(names) > _MOST_MEMBERS else ""
        yield f"up while it is awake: {', '.join(names[:_MOST_MEMBERS])}{more}"
    for one in following[:_MOST_MEMBERS]:
        yield from (f"{one.kind} {one.name}: {remark}" for remark in one.remarks)


def _blocks(day: Day, subject: Subject, zone: ZoneInfo) -> Text:
    blocks = "".join("·" if share == 0 else "█" if share > 0.99 else "▌" for share in day.shares)[:BLOCKS]
    blocks = _within(day, subject.timeline, blocks, zone)
    up = f"{day.up_seconds / 3600:5.1f} h"
    count = f"  {day.most}" if subject.has_count and day.most else ""
    because = next((f"  {name}" for each, name in subject.holidays if each == day.day), "")
    return Text.assemble(f"{day.day:%a %d %b} ", (blocks, "green"), f" {up}{count}", (printable(because), "dim"))


def _within(day: Day, timeline: Timeline, blocks: str, zone: ZoneInfo) -> str:
    """Draw a day, without blocks before the period and behind it."""
    first, last = (at.astimezone(zone) for at in (timeline.begins, timeline.ends))
    if day.day == first.date():
        skipped = first.hour * 2 + first.minute // 30
        blocks = " " * skipped + blocks[skipped:]
    if day.day == last.date():
        kept = last.hour * 2 + -(-last.minute // 30)
        blocks = blocks[:kept] + " " * (BLOCKS - kept)
    return blocks


def _changes(subject: Subject, zone: ZoneInfo, width: int) -> Text | None:
    moves = subject.timeline.moves
    if not moves:
        return None
    rows = [
        (f"{step.at.astimezone(zone):%a %d %H:%M:%S}", _arrow(subject, step), printable(step.because))
        for step in moves[:MOST_CHANGES]
    ]
    if len(moves) > MOST_CHANGES:
        rows.append(("", "", f"and {len(moves) - MOST_CHANGES} more; -o json has all"))
    return draw_table(_CHANGES, rows, width)


def _arrow(subject: Subject, step: Step) -> str:
    if subject.kind == "Environment":
        return "wakes" if step.replicas else "sleeps"
    if subject.kind == "CronJob":
        return "resumes" if step.replicas else "suspends"
    return f"{step.before} → {step.replicas}"


def _coded(message: str, code: str) -> str:
    return f"{message} [{code}]" if code else message


def _sentence(text: str, width: int, style: str = "") -> Text:
    """Break a line between words; the lines that follow are indented by four."""
    first, *others = wrap(text, width)
    if not others:
        return Text(text, style)
    rest = wrap(" ".join(others), width - 4)
    return Text("\n    ".join([first, *rest]), style)
