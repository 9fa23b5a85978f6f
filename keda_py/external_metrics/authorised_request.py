"""Authorised requests and their responses: the values between the stages of `external_metrics/server.py`.

Made after authorisation; next: `external_metrics/routing.py` decides who answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.selectors import LabelSelector
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.caller import Caller

# Cached selectors, and their longest text: HPAs repeat short ones, and parsing one costs 10 us. 4 MB at most.
REMEMBERED, LONGEST_REMEMBERED = 4096, 256
# Characters; parsing a selector of 8 KB would block the event loop for 15 ms.
LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSelection:
    """Parsed label selector of a request.

    `is_ours`: it has a requirement on ScaledObjects, of any kind, or is malformed. `scaled_object` is the name that it
    requires, by `=` or `in` with one value, "" if none; other requirements are ignored. `problem` is why it cannot be
    parsed.
    """

    text: str
    is_ours: bool = False
    scaled_object: str = ""
    problem: str = ""


def select(selector: str) -> MetricSelection:
    """Parse a selector; a malformed one has a `problem`."""
    # Long selectors are not cached, for the same reason as long paths in `serving/api_request.py`.
    return _remembered(selector) if len(selector) <= LONGEST_REMEMBERED else _read(selector)


def _read(selector: str) -> MetricSelection:
    if len(selector) > LONGEST:
        return MetricSelection(text=selector, is_ours=True, problem=f"the selector is longer than {LONGEST} characters")
    try:
        requirements = LabelSelector.parse(selector).requirements
    except ValueError as error:
        return MetricSelection(text=selector, is_ours=True, problem=str(error))
    about = [requirement for requirement in requirements if requirement.key == NAME_LABEL]
    fixed = [found.values for found in about if found.operator == "in" and len(found.values) == 1]
    return MetricSelection(text=selector, is_ours=bool(about), scaled_object=next(iter(fixed[0])) if fixed else "")


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorisedRequest:
    """Authorised request of `caller`; `metric` is any resource's name: for `.../scaledobjects/app` it is
    "scaledobjects".

    Namespace and metric are what was authorised, from the same parsing of the path.
    """

    caller: Caller
    asked: ApiRequest
    namespace: str
    metric: str
    selection: MetricSelection


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """Response to the caller."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def question_of(caller: Caller, asked: ApiRequest) -> AuthorisedRequest:
    """Make the authorised request of a caller."""
    wanted = asked.wanted
    return AuthorisedRequest(
        caller=caller,
        asked=asked,
        namespace=wanted.namespace,
        metric=wanted.resource,
        selection=select(asked.selector),
    )
