"""The label selector of a question: which ScaledObject is meant.

Only `key=value`, `key==value` and `key in (value)` fix a label to one value, as Kubernetes' RequiresExactMatch has it;
other requirements are read past. A hand-written reader: selectors come from whoever may ask, so no regular expressions.
"""

from keda_py.core.spec import NAME_LABEL
from keda_py.metrics.statuses import StatusError, bad_request, internal_error


def scaled_object_name(selector: str) -> str:
    """The ScaledObject that a selector fixes. Raises StatusError in KEDA's words where it fixes none."""
    for requirement in _split(selector):
        key, operator, values = _parse(requirement)
        if key == NAME_LABEL and operator in ("=", "==", "in") and len(values) == 1:
            return values[0]
    raise internal_error("scaledObject name is not specified")


def _split(selector: str) -> list[str]:
    """At commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(selector):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(selector[start:position])
            start = position + 1
    return [part for part in (*parts, selector[start:]) if part.strip()]


def _parse(requirement: str) -> tuple[str, str, list[str]]:
    text = requirement.strip()
    words = text.split(maxsplit=2)
    if len(words) == 3 and words[1] in ("in", "notin"):
        if not (words[2].startswith("(") and words[2].endswith(")")):
            raise _refuse(requirement)
        return words[0], words[1], [value.strip() for value in words[2][1:-1].split(",")]
    for operator in ("!=", "==", "="):
        key, found, value = text.partition(operator)
        if found:
            return key.strip(), operator, [value.strip()]
    if len(words) != 1:
        raise _refuse(requirement)
    return text.removeprefix("!"), "exists", []


def _refuse(requirement: str) -> StatusError:
    shown = requirement[:100]
    return bad_request(f'unable to parse labelSelector requirement "{shown}"; write {NAME_LABEL}=NAME')
