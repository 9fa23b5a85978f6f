"""Stored statuses -> memories: read as a whole, or piece by piece if that fails.

Another client, or an operator of another version, may have written it. One unreadable piece stops no other from being
acted on. `state.py` has the form of each piece.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.apis.foreign import map_at
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.decision.state import EnvironmentState, read_state
from keda_py.errors import ConfigError

_PIECES = ("phase", "phaseSince", "transition", "wakes", "lastWake", "idle")
"""Pieces beside the members; the next decision writes each of them anew."""
_LONG_AGO = "1970-01-01T00:00:00Z"
"""Stands in for an unreadable `since` of a member, by which nothing is decided."""
_LONGEST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """`state` as far as it can be read; `lost` names the pieces that are left out.

    `unreadable` says what is wrong with each member that is left alone: another version may know the count in its
    entry, which stays as it is.
    """

    state: EnvironmentState
    lost: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)


def read_stored(status: Mapping[str, Any]) -> StoredState:
    """Read what is remembered, and say what cannot be read; no status raises an error."""
    remembered = {name: status[name] for name in (*_PIECES, "members") if status.get(name) is not None}
    try:
        return StoredState(state=_read(remembered))
    except ConfigError:
        return _read_in_pieces(remembered)


def _read_in_pieces(remembered: Mapping[str, Any]) -> StoredState:
    kept, lost, members, unreadable = dict[str, Any](), list[str](), dict[str, Any](), dict[str, str]()
    for name in _PIECES:
        if name not in remembered:
            continue
        if problem := _problem({name: remembered[name]}):
            lost.append(problem)
        else:
            kept[name] = remembered[name]
    for key, entry in map_at(remembered, "members").items():
        if not (problem := _problem({"members": {key: entry}})):
            members[key] = entry
            continue
        mended = next((one for one in _mended(entry) if not _problem({"members": {key: one}})), None)
        if mended is not None:
            members[key] = mended
            lost.append(problem)
        else:
            unreadable[key] = problem
    return StoredState(state=_read({**kept, "members": members}), lost=tuple(lost), unreadable=unreadable)


def _mended(entry: object) -> Iterator[Mapping[str, Any]]:
    """Yield the entry of a member without the parts that are not needed."""
    if isinstance(entry, dict):
        yield {**entry, "since": _LONG_AGO}
        yield {**entry, "workload": ""}
        yield {**entry, "since": _LONG_AGO, "workload": ""}


def _problem(piece: Mapping[str, Any]) -> str:
    """Say why a piece cannot be read; "" if it can."""
    try:
        _read(piece)
    except ConfigError as error:
        return f"status.{str(error).removeprefix('status.')}"[:_LONGEST]
    return ""


def _read(remembered: Mapping[str, Any]) -> EnvironmentState:
    return read_state(parse_object(EnvironmentStatus, remembered))
