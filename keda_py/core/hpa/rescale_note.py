"""The note of an HPA's Event SuccessfulRescale, read back: the new count, and the metric that caused it. Pure."""

from dataclasses import dataclass

REASON = "SuccessfulRescale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """`metric` is "" where the note names none, as of "All metrics below target"; `why` says the rest in words."""

    size: int | None
    metric: str
    why: str


def read_rescale(note: str) -> Rescale:
    """`New size: 3; reason: external metric s0-q(&LabelSelector{...}) above target`."""
    head, _, cause = note.partition("reason: ")
    digits = head.removeprefix("New size: ").partition(";")[0].strip()
    size = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 11 else None
    if cause.startswith("external metric "):
        metric, _, rest = cause.removeprefix("external metric ").partition("(")
        return Rescale(size=size, metric=metric, why=rest.rpartition(") ")[2])
    if " resource utilization" in cause:
        return Rescale(size=size, metric=cause.partition(" ")[0], why=cause.rpartition(") ")[2])
    return Rescale(size=size, metric="", why=f"{cause[:1].lower()}{cause[1:]}")
