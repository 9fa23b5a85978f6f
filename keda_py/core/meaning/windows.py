"""One window of a cron trigger: its effect in a week, and what its author may not have intended.

Pure. A schedule or a zone that cannot be parsed is reported elsewhere (`sdk/checks.py`) and skipped here. There is at
most one warning about the days and times of a window: the first hides its consequences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.cron.fields import CronFields, parse_fields
from keda_py.core.cron.openings import DAY, Openings, Span, firings, openings_of
from keda_py.core.cron.windows import CronWindow, gap_of
from keda_py.core.cron.words import clock, days_in_words, duration, runs, span_in_words, window_in_words
from keda_py.core.cron.zones import load_zone
from keda_py.core.metric_specs import CRON
from keda_py.errors import ConfigError

# Windows of an object that are checked; those of further triggers are not, and above it no windows are compared.
MOST_WINDOWS = 16
_LONGEST_NUMBER = 9
_NOON = DAY // 2
# Minutes. A window that is open at night for so long, and never by day, may have its ends exchanged.
_NIGHT = 11 * 60
_INVERTED = ("Etc/GMT+", "Etc/GMT-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The window of one trigger. `openings` None: it fires too often, or its ends have different zones."""

    index: int
    written: tuple[str, str]
    start: CronFields
    end: CronFields
    zone: str
    replicas: int
    openings: Openings | None

    def field(self, key: str) -> str:
        """Path of a key of the trigger's metadata."""
        return f"spec.triggers[{self.index}].metadata.{key}"

    @property
    def words(self) -> str:
        """The window as in "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"; "" if that is not known."""
        return window_in_words(CronWindow(start=self.written[0], end=self.written[1], timezone=self.zone))


def windows_of(triggers: Sequence[ScaleTrigger]) -> list[Window]:
    """Return the windows that can be parsed, of the first cron triggers."""
    crons = [(index, trigger) for index, trigger in enumerate(triggers) if trigger.type == CRON][:MOST_WINDOWS]
    read = (_read(index, trigger) for index, trigger in crons)
    return [window for window in read if window is not None]


def check_window(window: Window, others: Sequence[Window] = ()) -> Iterator[AdmissionWarning]:
    """Yield all warnings about a window; `others` are the windows of the same object."""
    yield from _check_zone(window)
    minutely = list(_check_minutes(window))
    yield from minutely
    if not minutely and window.openings is not None:
        yield from _check_openings(window, window.openings, others)
        yield from _check_summer_time(window)


def _read(index: int, trigger: ScaleTrigger) -> Window | None:
    metadata = trigger.metadata
    written = metadata.get("start", ""), metadata.get("end", "")
    try:
        start, end = (parse_fields(text, field="schedule") for text in written)
        zones = {fields.timezone or metadata.get("timezone", "") for fields in (start, end)}
        for zone in zones:
            load_zone(zone)
    except ConfigError:
        return None
    if written[0] == written[1]:
        return None  # the scaler refuses it
    openings = openings_of(start, end) if len(zones) == 1 else None
    count = metadata.get("desiredReplicas", "")
    digits = count.isascii() and count.isdigit() and len(count) <= _LONGEST_NUMBER
    return Window(
        index=index,
        written=written,
        start=start,
        end=end,
        zone=min(zones),
        replicas=int(count) if digits else 0,
        openings=openings,
    )


def _check_zone(window: Window) -> Iterator[AdmissionWarning]:
    _, sign, hours = window.zone.partition(_INVERTED[0] if window.zone.startswith(_INVERTED[0]) else _INVERTED[1])
    if not sign or not hours.strip("0"):
        return
    side = "behind" if sign == _INVERTED[0] else "ahead of"
    other = _INVERTED[1] if sign == _INVERTED[0] else _INVERTED[0]
    text = (
        f'"{window.zone}" is {hours} h {side} UTC: the sign of these names is inverted; name a place, such as '
        f"Asia/Seoul, or write {other}{hours} if the other side is meant"
    )
    yield _warn(window, "timezone", text, codes.ZONE_SIGN)


def _check_minutes(window: Window) -> Iterator[AdmissionWarning]:
    """Warn of ends or starts that fire every minute: only the last firing before the other boundary has an effect."""
    for key, fields, written in (("start", window.start, window.written[0]), ("end", window.end, window.written[1])):
        if fields.minute.star:
            does = "opens" if key == "start" else "closes"
            text = f'"{written}" fires every minute, and the window {does} at the last of them; write 0 for the minute'
            yield _warn(window, key, text, codes.EVERY_MINUTE)


def _check_openings(window: Window, openings: Openings, others: Sequence[Window]) -> Iterator[AdmissionWarning]:
    if not openings.spans:
        key = "start" if window.start.never_fires() and not window.end.never_fires() else "end"
        text = f'the window never opens: "{window.written[key == "end"]}" never comes'
        yield _warn(window, key, text, codes.NEVER_OPENS)
    elif openings.always:
        yield _always(window)
    elif openings.weekly:
        by_day = any(_is_open_at_noon(other, openings.spans[0][0] // DAY) for other in others)
        swapped = () if by_day else _check_swapped(window, openings)
        first = (*swapped, *_check_weekend(window, openings), *_check_days(window, openings))
        yield from first[:1]


def _always(window: Window) -> AdmissionWarning:
    if window.start.never_fires():
        text = f'the window is always open: "{window.written[0]}" never comes, so each end is followed by an end'
        return _warn(window, "start", text, codes.ALWAYS_OPEN)
    first, second = window.written
    text = f'the window is always open: "{second}" fires whenever "{first}" does; give it an end of its own'
    return _warn(window, "end", text, codes.ALWAYS_OPEN)


def _check_swapped(window: Window, openings: Openings) -> Iterator[AdmissionWarning]:
    """Warn if it is open all night and closed at noon on the start's days: office hours with their ends exchanged?"""
    days = {opens // DAY for opens, _ in openings.spans}
    lengths = [closes - opens for opens, closes in openings.spans]
    one_a_day = len(days) == len(openings.spans) and len({opens % DAY for opens, _ in openings.spans}) == 1
    same_days = window.start.day_of_week.values == window.end.day_of_week.values
    if not (one_a_day and same_days and _NIGHT <= min(lengths) < DAY):
        return
    opens, closes = openings.spans[0][0] % DAY, window_end(openings)
    if not closes < _NOON < opens:
        return
    by_day = f"{clock(closes)}-{clock(opens)}"
    first, second = window.written
    text = (
        f'opens {window.words}: if {by_day} is meant, exchange start and end: start "{second}", end "{first}"'
        f"{_or_shifted(window, days)}"
    )
    yield _warn(window, "start", text, codes.SWAPPED)


def _is_open_at_noon(window: Window, day: int) -> bool:
    """Whether another window covers that noon: then this one is meant for the night."""
    openings = window.openings
    return openings is not None and openings.weekly and openings.covers(day * DAY + _NOON)


def window_end(openings: Openings) -> int:
    """Return the time of day at which the shortest opening closes."""
    return min(openings.spans, key=lambda span: span[1] - span[0])[1] % DAY


def _or_shifted(window: Window, days: set[int]) -> str:
    """Suggest an end on the following days, for windows of single nights."""
    if len(days) == 7:
        return ""
    end = _on_days(window, _days_after(window))
    return f'; if the nights of {days_in_words(sorted(days))} are meant, write end "{end}"'


def _check_weekend(window: Window, openings: Openings) -> Iterator[AdmissionWarning]:
    """Warn if one opening is at least a day longer than another: the end has other days than intended."""
    shortest, longest = (choose(openings.spans, key=_length) for choose in (min, max))
    if _length(longest) - _length(shortest) < DAY:
        return
    crosses = window_end(openings) <= shortest[0] % DAY
    days = _days_after(window) if crosses else window.written[0].split()[-1]
    text = (
        f"{span_in_words(longest)} is one opening of {duration(_length(longest))}, others last "
        f"{duration(_length(shortest))}: what counts is the last end before the next start; write end "
        f'"{_on_days(window, days)}"'
    )
    yield _warn(window, "end", text, codes.OVER_WEEKEND)


def _check_days(window: Window, openings: Openings) -> Iterator[AdmissionWarning]:
    """Warn of a start that is followed by another start before any end: it opens nothing."""
    starts = {at // DAY: at for at in sorted(firings(window.start, weekly=True) or ())}
    closed = [day for day, at in starts.items() if not openings.covers(at)]
    if not closed:
        return
    text = (
        f'"{window.written[0]}" opens nothing on {days_in_words(closed)}: no end comes before the next start; write '
        f'end "{_on_days(window, window.written[0].split()[-1])}"'
    )
    yield _warn(window, "end", text, codes.DAYS_CLOSED)


def _length(span: Span) -> int:
    return span[1] - span[0]


def _on_days(window: Window, days: str) -> str:
    """Write the end with other weekdays."""
    return " ".join((*window.written[1].split()[:-1], days))


def _days_after(window: Window) -> str:
    """Return the weekdays after those of the start, for an end after midnight: "2-6"."""
    days = sorted((day + 1) % 7 for day in window.start.day_of_week.values)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs(days))


def _check_summer_time(window: Window) -> Iterator[AdmissionWarning]:
    for key, fields, written in (("start", window.start, window.written[0]), ("end", window.end, window.written[1])):
        gap = gap_of(fields, window.zone)
        if gap is not None:
            text = (
                f'"{written}" falls into the hour that {window.zone} skips in summer time, '
                f"{gap.begins:%H:%M}-{gap.ends:%H:%M}: on that day it fires at {gap.ends:%H:%M}, and with KEDA not at "
                "all; write a time outside of it"
            )
            yield _warn(window, key, text, codes.SUMMER_TIME)


def _warn(window: Window, key: str, text: str, code: str) -> AdmissionWarning:
    field = window.field(key)
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=code)
