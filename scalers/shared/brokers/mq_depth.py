"""The answer of IBM MQ's REST interface to `display qlocal`, and what it says when it refuses."""

from collections.abc import Mapping
from typing import Any

from keda_py.errors import ScalerError
from scalers.shared.answers.json_fields import child, json_object, whole_or_none

_LONGEST = 500
"""Characters of a message that are shown."""


def read_depth(text: bytes) -> int | None:
    """`curdepth` of the queue, None where the answer leaves it out. Raises ScalerError, with MQ's own message."""
    response = _first(json_object(text), "commandResponse")
    if message := response.get("message"):
        raise ScalerError(str(message[0] if isinstance(message, list) else message)[:_LONGEST])
    if "parameters" not in response:
        raise ScalerError("the answer has no depth of the queue")
    return whole_or_none(child(response, "parameters"), "curdepth")


def read_refusal(text: bytes) -> str:
    """The first message of an answer with status 404, "" if missing. Raises ScalerError."""
    return str(_first(json_object(text), "error").get("message", ""))[:_LONGEST]


def _first(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}
