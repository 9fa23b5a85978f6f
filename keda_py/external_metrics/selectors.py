"""The label selector of a question: which ScaledObject is meant."""

from functools import lru_cache

from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.selectors import LabelSelector, Requirement
from keda_py.serving.statuses import bad_request, internal_error

REMEMBERED, LONGEST_REMEMBERED = 4096, 256
"""HPAs ask with the same short selector for ever; reading one costs 10 us. 2 MB at most."""
LONGEST = 4096
"""Reading one of 8 KB costs 15 ms, in which no other caller is answered."""


def scaled_object_name(selector: str) -> str:
    """The one ScaledObject that a selector fixes, `=` or `in` one value; other requirements are read past.

    Raises StatusError in KEDA's words where it fixes none.
    """
    try:
        requirements = _read(selector)
    except ValueError as error:
        raise bad_request(f"{error}; write labelSelector={NAME_LABEL}=NAME") from None
    for requirement in requirements:
        if requirement.key == NAME_LABEL and requirement.operator == "in" and len(requirement.values) == 1:
            return next(iter(requirement.values))
    raise internal_error("scaledObject name is not specified")


def names_scaled_object(selector: str) -> bool:
    """Whether the selector speaks of ScaledObjects at all, in whatever way; one that cannot be read does, too."""
    try:
        requirements = _read(selector)
    except ValueError:
        return True
    return any(requirement.key == NAME_LABEL for requirement in requirements)


def _read(selector: str) -> tuple[Requirement, ...]:
    if len(selector) > LONGEST:
        raise ValueError(f"the selector is longer than {LONGEST} characters")
    return _remembered(selector) if len(selector) <= LONGEST_REMEMBERED else LabelSelector.parse(selector).requirements


@lru_cache(maxsize=REMEMBERED)
def _remembered(selector: str) -> tuple[Requirement, ...]:
    return LabelSelector.parse(selector).requirements
