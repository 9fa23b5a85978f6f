"""Differences between the previews of two versions of manifests, in words and in hours a day of the week. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.core.cron.words import days_in_words, duration
from keda_py.replay.days import Day, days_of
from keda_py.replay.previews import Preview, Subject
from keda_py.terminal.foreign import printable

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Differences below it are ignored: a sync of the HPA moves a change by so much.
_NOISE_MINUTES = 1
_MOST_SPANS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of one object; `old` or `new` is None if it is added or removed. `words` name days that differ."""

    old: Subject | None
    new: Subject | None
    words: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The newer version, of a removed object the older one."""
        found = self.new or self.old
        assert found is not None, "one of the two is there"
        return found


def differences(old: Preview, new: Preview, zone: ZoneInfo) -> list[Difference]:
    """List objects that go otherwise, in the order of the new manifests; the removed ones follow."""
    before = {subject.key: subject for subject in old.subjects}
    after = {subject.key: subject for subject in new.subjects}
    pairs = [(before.get(key), after.get(key)) for key in [*after, *(key for key in before if key not in after)]]
    found = [Difference(old=one, new=other, words=tuple(_words(one, other, zone))) for one, other in pairs]
    return [each for each in found if each.words]


def _words(old: Subject | None, new: Subject | None, zone: ZoneInfo) -> Iterator[str]:
    if old is None or new is None:
        yield "is added" if old is None else "is removed"
        return
    alike: defaultdict[str, list[int]] = defaultdict(list)
    olds, news = _weekdays(old, zone), _weekdays(new, zone)
    for weekday in sorted(olds):
        if text := _differs(olds[weekday], news[weekday], zone):
            alike[text].append(weekday)
    for text, weekdays in alike.items():
        yield f"{_named(weekdays)}: {text}"
    if old.settles != new.settles:
        yield "settles now" if new.settles else "never settles any more"


def _weekdays(subject: Subject, zone: ZoneInfo) -> dict[int, list[Day]]:
    """Sum hours up by day of the week, from Monday, 0."""
    found: defaultdict[int, list[Day]] = defaultdict(list)
    for day in days_of(subject.timeline, zone):
        found[day.day.weekday()].append(day)
    return found


def _differs(old: Sequence[Day], new: Sequence[Day], zone: ZoneInfo) -> str:
    """Describe the difference in a day of that weekday, on the average; "" if they are alike."""
    count = len(new) * 60
    up = round(sum(day.up_seconds for day in new) / count) - round(sum(day.up_seconds for day in old) / count)
    if abs(up) > _NOISE_MINUTES:
        return f"up {duration(abs(up))} {'more' if up > 0 else 'less'}"
    replica = (sum(day.replica_seconds for day in new) - sum(day.replica_seconds for day in old)) / count
    if _times(old[0], zone) != _times(new[0], zone):
        return f"up {_times(new[0], zone)} instead of {_times(old[0], zone)}"
    if abs(replica) > _NOISE_MINUTES:
        return f"{abs(replica) / 60:.4g} replica hours {'more' if replica > 0 else 'less'}"
    return ""


def _times(day: Day, zone: ZoneInfo) -> str:
    """List when it is up, to the minute: spans of different counts that touch are one."""
    joined: list[list[str]] = []
    for span in day.spans:
        start, end = (f"{at.astimezone(zone):%H:%M}" for at in (span.start, span.end))
        if joined and joined[-1][1] == start:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    more = f" and {len(joined) - _MOST_SPANS} more" if len(joined) > _MOST_SPANS else ""
    return ", ".join(f"{start}-{end}" for start, end in joined[:_MOST_SPANS]) + more


def _named(weekdays: Sequence[int]) -> str:
    return _DAYS[weekdays[0]] if len(weekdays) == 1 else days_in_words(weekdays)


def text_of(found: Sequence[Difference]) -> str:
    """Write differences for people: a paragraph for each object."""
    if not found:
        return "nothing goes otherwise\n"
    lines = []
    for each in found:
        lines.append(f"{each.subject.kind} {each.subject.title}: {_sums(each)}")
        lines += [f"  {text}" for text in each.words]
    return printable("\n".join(lines)) + "\n"


def _sums(difference: Difference) -> str:
    parts = []
    for what, unit in (("up_seconds", "h up a week"), ("replica_seconds", "replica hours")):
        if what == "replica_seconds" and difference.subject.kind in ("Environment", "CronJob"):
            continue
        hours = [_hours(one, what) for one in (difference.old, difference.new) if one is not None]
        parts.append(f"{' → '.join(dict.fromkeys(hours))} {unit}")
    return ", ".join(parts)


def _hours(subject: Subject, what: str) -> str:
    seconds: float = getattr(subject.timeline, what)
    return f"{subject.timeline.a_week(seconds):.1f}"


def document_of(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """Write differences for programs: objects with numbers and words."""
    return [
        {
            "kind": each.subject.kind,
            "namespace": each.subject.namespace,
            "name": each.subject.name,
            "words": list(each.words),
            **{
                when: {
                    "upHoursAWeek": round(one.timeline.a_week(one.timeline.up_seconds), 4),
                    "replicaHoursAWeek": round(one.timeline.a_week(one.timeline.replica_seconds), 4),
                }
                for when, one in (("old", each.old), ("new", each.new))
                if one is not None
            },
        }
        for each in found
    ]
