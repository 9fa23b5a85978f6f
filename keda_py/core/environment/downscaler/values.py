"""Numbers, percentages and dates of annotations, in the forms that the program takes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keda_py.errors import ConfigError

_DATE_FORMS = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True)
class Amount:
    """A count, or a percentage of one; compared by number alone."""

    number: int
    percent: bool = False

    @property
    def wire(self) -> int | str:
        """The value as a PodDisruptionBudget has it: a number, or a percentage as text."""
        return f"{self.number}%" if self.percent else self.number

    @property
    def text(self) -> str:
        """The value as the program writes it into an annotation."""
        return str(self.wire)


def parse_amount(text: str, *, field: str, signed: bool = False) -> Amount:
    """Read `3`, ` 3 `, `50%`, `50 %`; with `signed` also `-1`. Raises ConfigError."""
    word = text.strip()
    percent = word.endswith("%")
    word = word.removesuffix("%").strip()
    digits = word.removeprefix("-" if signed and not percent else "\0")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER):
        raise ConfigError(f"{field}: {text[:100]!r} is not a number of replicas; write for example 1", field=field)
    number = int(word)
    if percent and number > 100:
        raise ConfigError(f"{field}: {text[:100]!r} is more than 100%; write 0% to 100%", field=field)
    return Amount(number, percent)


def parse_seconds(text: str) -> timedelta | None:
    """Read a whole number as Python does, " +5 " too, since the program does; None for any other text."""
    try:
        return timedelta(seconds=int(text)) if len(text) <= _LONGEST_NUMBER else None
    except (ValueError, OverflowError):
        return None


def parse_date(text: str) -> datetime | None:
    """Read an instant, in UTC; None if the text has none of the forms."""
    for form in _DATE_FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
