"""The five fields of a cron expression, in the grammar of robfig/cron, which KEDA's users write.

`windows.py` turns a `CronFields` into firing times; this file only parses and refuses. The grammar is narrower than
most cron libraries' (no `@daily`, `L`, `W`, `#`, no Sunday as 7, no `22-4`) and wider in two places (`TZ=` prefix,
`1,,2`): an expression means here exactly what it means to KEDA, or is refused as there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from keda_py.errors import ConfigError

# Characters; an expression that lists every value of every field has 340.
MAX_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class _Bounds:
    name: str
    low: int
    high: int
    names: Mapping[str, int]


_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6}
_MONTHS |= {"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
_WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

_FIELDS = (
    _Bounds("minute", 0, 59, {}),
    _Bounds("hour", 0, 23, {}),
    _Bounds("day of month", 1, 31, {}),
    _Bounds("month", 1, 12, _MONTHS),
    _Bounds("day of week", 0, 6, _WEEKDAYS),
)

_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class CronField:
    """The values of one field; `star` if it was written `*`, `?` or `*/1`, which changes how days are matched."""

    values: frozenset[int]
    star: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CronFields:
    """A parsed expression. `timezone` is the zone of a `TZ=` prefix, "" without one."""

    minute: CronField
    hour: CronField
    day_of_month: CronField
    month: CronField
    day_of_week: CronField
    timezone: str

    def matches_any_weekday(self) -> bool:
        """Whether days of month and week both restrict, and either suffices: `0 0 13 * 5` fires on each Friday too."""
        return not (self.day_of_month.star or self.day_of_week.star)

    def never_fires(self) -> bool:
        """Whether no day can match: 30 February, or a list without entries (`,`)."""
        if not (self.minute.values and self.hour.values and self.month.values):
            return True
        if self.matches_any_weekday() and self.day_of_week.values:
            return False
        if not self.day_of_week.values and not self.matches_any_weekday():
            return True
        days = self.day_of_month.values
        return not any(min(days, default=32) <= _DAYS_IN_MONTH[month - 1] for month in self.month.values)


def parse_fields(expression: str, *, field: str) -> CronFields:
    """Parse `minute hour day-of-month month day-of-week`; raises ConfigError naming `field`, value and remedy."""
    if len(expression) > MAX_LENGTH:
        text = f"{field}: more than {MAX_LENGTH} characters are no cron expression; write ranges, such as 0-59/5"
        raise ConfigError(text, field=field)
    try:
        timezone, rest = _split_timezone(expression)
        words = rest.split()
        if rest.startswith("@"):
            raise ValueError("descriptors such as @daily are not accepted; write five fields, e.g. 0 0 * * *")
        if len(words) != len(_FIELDS):
            raise ValueError(
                f"expected exactly 5 fields, found {len(words)}: minute hour day-of-month month day-of-week"
            )
        parsed = [_parse_field(word, bounds) for word, bounds in zip(words, _FIELDS, strict=True)]
    except ValueError as error:
        raise ConfigError(f"{field}: {expression!r} is not a cron expression: {error}", field=field) from None
    minute, hour, day_of_month, month, day_of_week = parsed
    return CronFields(
        minute=minute, hour=hour, day_of_month=day_of_month, month=month, day_of_week=day_of_week, timezone=timezone
    )


def _split_timezone(expression: str) -> tuple[str, str]:
    for prefix in ("TZ=", "CRON_TZ="):
        if expression.startswith(prefix):
            timezone, space, rest = expression.removeprefix(prefix).partition(" ")
            if not space:
                raise ValueError(f"nothing follows {prefix}{timezone}; write {prefix}<zone> and then five fields")
            return timezone, rest.strip()
    return "", expression


def _parse_field(word: str, bounds: _Bounds) -> CronField:
    values: set[int] = set()
    star = False
    for item in filter(None, word.split(",")):
        item_values, item_star = _parse_range(item, bounds)
        values.update(item_values)
        star = star or item_star
    return CronField(frozenset(values), star)


def _parse_range(item: str, bounds: _Bounds) -> tuple[range, bool]:
    span, *steps = item.split("/")
    ends = span.split("-")
    if len(steps) > 1:
        raise ValueError(f"{bounds.name} {item!r} has more than one '/'; write first-last/step")
    step = _parse_number(steps[0], bounds) if steps else 1
    if step == 0:
        raise ValueError(f"{bounds.name} {item!r} has step 0; write a positive step")
    if ends[0] in ("*", "?"):
        # What follows a star's hyphen is ignored, as in robfig: `*-5` is every value.
        return range(bounds.low, bounds.high + 1, step), step == 1
    if len(ends) > 2:
        raise ValueError(f"{bounds.name} {item!r} has more than one '-'; write first-last")
    low = _parse_value(ends[0], bounds)
    # `5/15` means 5-59/15, while `5-5/15` is 5 alone.
    high = _parse_value(ends[1], bounds) if len(ends) == 2 else bounds.high if steps else low
    if low < bounds.low or high > bounds.high:
        raise ValueError(f"{bounds.name} {item!r} is outside of {bounds.low}-{bounds.high}")
    if low > high:
        raise ValueError(
            f"{bounds.name} {item!r} begins after its end; write two ranges: {low}-{bounds.high},{bounds.low}-{high}"
        )
    return range(low, high + 1, step), False


def _parse_value(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _parse_number(text, bounds) if named is None else named


def _parse_number(text: str, bounds: _Bounds) -> int:
    digits = text.removeprefix("+")
    # int() takes more than Go's Atoi: "1_0", " 1", Arabic digits. The length limit keeps hostile input cheap.
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        allowed = f" or {', '.join(bounds.names)}" if bounds.names else ""
        raise ValueError(f"{bounds.name} {text!r} is not a number{allowed}")
    return int(digits)
