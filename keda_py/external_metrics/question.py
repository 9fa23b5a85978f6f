"""A question that may be asked, and what is answered: the values between the stages of `external_metrics/server.py`.

Made once the caller has been authorised; next: `external_metrics/routing.py` says who answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.selectors import LabelSelector
from keda_py.serving.asked import Asked
from keda_py.serving.caller import Caller

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


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What `caller` asks; `metric` is any resource's name: for `.../scaledobjects/app` it is "scaledobjects".

    Namespace and metric are what was authorised, from the same reading of the path.
    """

    caller: Caller
    asked: Asked
    namespace: str
    metric: str
    selection: Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back to the caller."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def question_of(caller: Caller, asked: Asked) -> Question:
    """What the caller wants to know."""
    wanted = asked.wanted
    return Question(
        caller=caller,
        asked=asked,
        namespace=wanted.namespace,
        metric=wanted.resource,
        selection=select(asked.selector),
    )
