"""Label selectors as Kubernetes writes them: checked before they are sent, so that a bad one is a ConfigError."""

import re2

from keda_py.scaler import ConfigError

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}"
_VALUE = rf"(?:{_NAME})?"
_REQUIREMENT = re2.compile(
    rf"\s*(?:!\s*{_KEY}|{_KEY}(?:\s*(?:==?|!=)\s*{_VALUE}|\s*[<>]\s*-?[0-9]+"
    rf"|\s+(?:in|notin)\s*\(\s*{_VALUE}(?:\s*,\s*{_VALUE})*\s*\))?)\s*"
)


def check_label_selector(selector: str, *, field: str) -> None:
    """Raises ConfigError naming the requirement that Kubernetes would refuse."""
    for requirement in _split(selector):
        if not _REQUIREMENT.fullmatch(requirement):
            message = (
                f'{field}: "{requirement.strip()}" is not a label requirement: write app=web, env in (a, b) or !old'
            )
            raise ConfigError(message, field=field)


def _split(selector: str) -> list[str]:
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for character in selector:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
