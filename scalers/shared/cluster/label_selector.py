"""Label selectors as Kubernetes writes them: checked before they are sent, so that a bad one is a ConfigError."""

import re2

from keda_py.core.values.selectors import MAX_LENGTH, MAX_REQUIREMENTS
from keda_py.sdk.scaler import ConfigError

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}"
_VALUE = rf"(?:{_NAME})?"
_REQUIREMENT = re2.compile(
    rf"\s*(?:!\s*{_KEY}|{_KEY}(?:\s*(?:==?|!=)\s*{_VALUE}|\s*[<>]\s*-?[0-9]{{1,18}}"
    rf"|\s+(?:in|notin)\s*\(\s*{_VALUE}(?:\s*,\s*{_VALUE})*\s*\))?)\s*"
)


def check_label_selector(selector: str, *, field: str) -> None:
    """Raises ConfigError naming the requirement that Kubernetes would refuse, and for too many of them."""
    if len(selector) > MAX_LENGTH:
        raise ConfigError(f"{field}: a label selector has at most {MAX_LENGTH} characters", field=field)
    if selector.count(",") >= MAX_REQUIREMENTS and len(_split(selector)) > MAX_REQUIREMENTS:
        raise ConfigError(f"{field}: a label selector has at most {MAX_REQUIREMENTS} requirements", field=field)
    for requirement in _split(selector):
        if not _REQUIREMENT.fullmatch(requirement):
            message = (
                f'{field}: "{requirement.strip()}" is not a label requirement: write app=web, env in (a, b) or !old'
            )
            raise ConfigError(message, field=field)


def _split(selector: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, begin, depth = [], 0, 0
    for at, character in enumerate(selector):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append(selector[begin:at])
            begin = at + 1
    return [*parts, selector[begin:]]
