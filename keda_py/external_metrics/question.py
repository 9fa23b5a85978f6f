"""A question that may be asked, and what is answered: the values between the stages of `external_metrics/server.py`.

Made once the caller has been authorised; next: `external_metrics/routing.py` says who answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keda_py.external_metrics.selectors import Selection, select
from keda_py.serving.asked import Asked
from keda_py.serving.caller import Caller

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
