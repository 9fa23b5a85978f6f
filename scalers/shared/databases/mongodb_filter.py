"""A filter of MongoDB: MongoDB's Extended JSON, read as KEDA's driver reads it, so that no operator of it is lost.

bson's reader knows an older form, too, in which `$regex` is a value: whatever stands beside it would vanish, and with
each operator that does the count grows. Here `$regex` is the operator that it is to the server.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

_LONGEST: Final = 64 * 1024
"""Characters: it is read on the loop at each poll."""
_MOST_COLLECTIONS: Final = 2_000
# Mappings and lists in each other, as in KEDA's driver.
_DEEPEST: Final = 200
_INT64: Final = 2**63
_NOT_JSON: Final = 'query: is not JSON: write a filter such as {"state": "open"}'
# Values that bson's reader takes with anything beside them. Of the others it says so itself.
_ALONE: Final = frozenset({"$undefined"})


def filter_problem(query: str) -> str:
    """Explain why a filter is invalid, "" if it is valid; needs no library."""
    if len(query) > _LONGEST or query.count("[") + query.count("{") > _MOST_COLLECTIONS:
        return f"query: has more than {_LONGEST} characters, or {_MOST_COLLECTIONS} lists and mappings"
    if _depth(query) > _DEEPEST:
        return f"query: has more than {_DEEPEST} lists and mappings in each other"
    try:
        found = json.loads(query, parse_int=_int64, parse_constant=_no_constant, object_pairs_hook=_once_each)
    except json.JSONDecodeError:
        return _NOT_JSON
    except ValueError as error:
        return f"query: {error}"
    return "" if isinstance(found, dict) and found else 'query: is no filter: write one such as {"state": "open"}'


def read_filter(query: str) -> dict[str, Any]:
    """A filter without a problem, with the values of BSON. Raises BSONError, ValueError, TypeError or LookupError."""
    from bson.json_util import object_hook

    def of_bson(found: dict[str, Any]) -> Any:
        if "$regex" in found:
            return found
        if len(found) > 1 and (alone := _ALONE & found.keys()):
            raise ValueError(f"{min(alone)} has something beside it")
        if "$binary" in found and not found.keys() <= {"$binary", "$type"}:
            raise ValueError("$binary has something beside it")
        return object_hook(found)

    read = json.loads(query, object_hook=of_bson)
    if not isinstance(read, dict):
        raise TypeError("the filter is a single value")
    return read


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """KEDA's driver sends both of two equal keys, and both have to hold: to keep one of them would count too many."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'has "{twice[:100]}" twice: put both into one mapping, or into a list of $and')
    return found


def _int64(text: str) -> int:
    value = int(text) if len(text) <= 20 else _INT64
    if not -_INT64 <= value < _INT64:
        raise ValueError("has a whole number beyond 64 bits: write one with a decimal point, or a $numberDecimal")
    return value


def _no_constant(_: str) -> float:
    raise json.JSONDecodeError("a constant", "", 0)


def _depth(text: str) -> int:
    """Return an upper bound of the depth; brackets inside texts count, too."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
