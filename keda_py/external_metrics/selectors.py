"""The label selector of a question: which ScaledObject is meant."""

from dataclasses import dataclass
from functools import lru_cache

from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.selectors import LabelSelector

REMEMBERED, LONGEST_REMEMBERED = 4096, 256
"""HPAs ask with the same short selector for ever; reading one costs 10 us. 4 MB at most."""
LONGEST = 4096
"""Reading one of 8 KB costs 15 ms, in which no other caller is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a selector says.

    `is_ours`: it speaks of ScaledObjects at all, in whatever way; one that cannot be read does, too. `scaled_object` is
    the one that it fixes, by `=` or `in` one value, "" if none; other requirements are read past. `problem` is why it
    cannot be read.
    """

    text: str
    is_ours: bool = False
    scaled_object: str = ""
    problem: str = ""


def select(selector: str) -> Selection:
    """Read a selector; one that cannot be read has a `problem`."""
    return _remembered(selector) if len(selector) <= LONGEST_REMEMBERED else _read(selector)


def _read(selector: str) -> Selection:
    if len(selector) > LONGEST:
        return Selection(text=selector, is_ours=True, problem=f"the selector is longer than {LONGEST} characters")
    try:
        requirements = LabelSelector.parse(selector).requirements
    except ValueError as error:
        return Selection(text=selector, is_ours=True, problem=str(error))
    about = [one for one in requirements if one.key == NAME_LABEL]
    fixed = [one.values for one in about if one.operator == "in" and len(one.values) == 1]
    return Selection(text=selector, is_ours=bool(about), scaled_object=next(iter(fixed[0])) if fixed else "")


_remembered = lru_cache(maxsize=REMEMBERED)(_read)
