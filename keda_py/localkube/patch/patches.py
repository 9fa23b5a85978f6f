"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902) on plain dicts.

The server calls these for PATCH requests; `strategic_merge` and `server_apply` are the other two kinds. Nothing is
changed in place: containers on the path of a change are copied, all others are shared with the original.
"""

from collections.abc import Callable, Sequence
from typing import Any

from keda_py.schema.resources import Obj
from keda_py.schema.status import StatusError, bad_request

_MISSING: Any = object()


def merge_patch(obj: Obj, patch: Obj) -> Obj:
    """Merge `patch` into `obj`: null removes, objects merge, everything else replaces."""
    merged = dict(obj)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            before = merged.get(key)
            merged[key] = merge_patch(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged


class _Refused(Exception):
    """An operation that does not fit the document; the real server tells the client no more than that, either."""


def json_patch(obj: Obj, operations: Sequence[Any]) -> Obj:
    """Apply all operations. Raises StatusError 422 if one does not fit, 400 for a malformed one."""
    document: Any = obj
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise bad_request("json: cannot unmarshal into Go value of type jsonpatch.Operation")
        try:
            document = _apply(document, operation)
        except _Refused:
            message = "the server rejected our request due to an error in our request"
            raise StatusError(422, "Invalid", message, {}) from None
    if not isinstance(document, dict):
        raise StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    return document


def _apply(document: Any, operation: Obj) -> Any:
    path = _tokens(operation["path"])
    match operation.get("op"):
        case "add":
            return _edit(document, path, _add(_value(operation)))
        case "replace":
            return _edit(document, path, _replace(_value(operation)))
        case "remove":
            return _edit(document, path, _remove)
        case "test":
            return _test(document, path, operation.get("value"))
        case "copy":
            return _edit(document, path, _add(_find(document, _tokens(operation.get("from", "")))))
        case "move":
            source = _tokens(operation.get("from", ""))
            return _edit(_edit(document, source, _remove), path, _add(_find(document, source)))
        case _:
            raise _Refused


def _value(operation: Obj) -> Any:
    if "value" not in operation:
        raise _Refused
    return operation["value"]


def _tokens(path: Any) -> list[str]:
    if path == "":
        return []
    if not isinstance(path, str) or not path.startswith("/"):
        raise _Refused
    return [token.replace("~1", "/").replace("~0", "~") for token in path[1:].split("/")]


def _index(items: list[Any], token: str, *, end: int) -> int:
    """Parse a position in 0..end; anything else is refused."""
    if not (token.isascii() and token.isdigit()) or int(token) > end:
        raise _Refused
    return int(token)


def _step(node: Any, token: str) -> Any:
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list):
        return node[_index(node, token, end=len(node) - 1)]
    raise _Refused


def _find(node: Any, path: list[str]) -> Any:
    for token in path:
        node = _step(node, token)
    return node


def _test(document: Any, path: list[str], expected: Any) -> Any:
    try:
        actual = _find(document, path)
    except _Refused:
        actual = _MISSING
    if actual is _MISSING and expected is None:  # the real server takes a missing value for null
        return document
    if actual is _MISSING or not _same(actual, expected):
        raise _Refused
    return document


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON, where true is not 1 as in Python."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _edit(node: Any, path: list[str], change: Callable[[Any, str], Any]) -> Any:
    """Copy `node` with a change to the container at the end of `path`."""
    if not path:
        return change(None, "")
    if len(path) == 1:
        return change(node, path[0])
    child = _edit(_step(node, path[0]), path[1:], change)
    if isinstance(node, dict):
        return {**node, path[0]: child}
    position = int(path[0])
    return [*node[:position], child, *node[position + 1 :]]


def _add(value: Any) -> Callable[[Any, str], Any]:
    def change(container: Any, token: str) -> Any:
        match container:
            case None:
                return value
            case dict():
                return {**container, token: value}
            case list():
                end = len(container)
                at = end if token == "-" else _index(container, token, end=end)
                return [*container[:at], value, *container[at:]]
            case _:
                raise _Refused

    return change


def _replace(value: Any) -> Callable[[Any, str], Any]:
    def change(container: Any, token: str) -> Any:
        if container is None:
            return value
        _step(container, token)
        if isinstance(container, dict):
            return {**container, token: value}
        at = int(token)
        return [*container[:at], value, *container[at + 1 :]]

    return change


def _remove(container: Any, token: str) -> Any:
    if container is None:
        raise _Refused
    _step(container, token)
    if isinstance(container, dict):
        return {key: value for key, value in container.items() if key != token}
    at = int(token)
    return [*container[:at], *container[at + 1 :]]
