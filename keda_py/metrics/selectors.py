"""The label selector of a question: which ScaledObject is meant."""

from keda_py.core.selectors import LabelSelector
from keda_py.core.spec import NAME_LABEL
from keda_py.serving.statuses import bad_request, internal_error


def scaled_object_name(selector: str) -> str:
    """The one ScaledObject that a selector fixes, `=` or `in` one value; other requirements are read past.

    Raises StatusError in KEDA's words where it fixes none.
    """
    try:
        requirements = LabelSelector.parse(selector).requirements
    except ValueError as error:
        raise bad_request(f"{error}; write labelSelector={NAME_LABEL}=NAME") from None
    for requirement in requirements:
        if requirement.key == NAME_LABEL and requirement.operator == "in" and len(requirement.values) == 1:
            return next(iter(requirement.values))
    raise internal_error("scaledObject name is not specified")


def names_scaled_object(selector: str) -> bool:
    """Whether the selector speaks of ScaledObjects at all, in whatever way; one that cannot be read does, too."""
    try:
        requirements = LabelSelector.parse(selector).requirements
    except ValueError:
        return True
    return any(requirement.key == NAME_LABEL for requirement in requirements)
