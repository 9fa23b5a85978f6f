"""Users that a front proxy speaks for: X-Remote-User, -Uid, -Group and -Extra-*, under the cluster's header names.

`authentication.py` calls this after the certificate has proved a front proxy; any other client's headers are ignored.
As in Go: of repeated headers the first is the user, all are groups, and an empty one is ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote

from keda_py.serving.caller import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, Caller

REMEMBERED = 256
"""Cached sets of headers; parsing one costs 10 us."""

Headers = tuple[tuple[str, str], ...]
"""Relevant headers in order, as (name in lower case, value)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeaders:
    """Header names in lower case, the most important first."""

    user: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


class FrontProxy:
    """Reads users from headers, with a cache."""

    def __init__(self, names: RequestHeaders) -> None:
        self._names = names
        self._wanted = frozenset((*names.user, *names.uid, *names.group))
        self._relevant = lru_cache(maxsize=REMEMBERED)(self._find_relevant)
        self._read = lru_cache(maxsize=REMEMBERED)(self._parse)

    def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """Return the user that the proxy speaks for, None if it names none. `headers` may repeat a name."""
        sent = [(wanted, value) for name, value in headers.items() if (wanted := self._relevant(name))]
        return self._read(tuple(sent))

    def _find_relevant(self, name: str) -> str:
        """Return a header's name in lower case, "" if it is none that matters."""
        lower = name.lower()
        return lower if lower in self._wanted or lower.startswith(self._names.extra_prefixes) else ""

    def _parse(self, sent: Headers) -> Caller | None:
        name = _first(sent, self._names.user)
        if not name:
            return None
        groups = tuple(filter(None, (value for header in self._names.group for value in _all(sent, header))))
        uid = _first(sent, self._names.uid)
        return authenticated(Caller(name=name, uid=uid, groups=groups, extra=tuple(self._extra(sent))))

    def _extra(self, sent: Headers) -> Iterator[tuple[str, tuple[str, ...]]]:
        prefixes = self._names.extra_prefixes
        for name in sorted({name for name, _ in sent if name.startswith(prefixes)}):
            prefix = next(prefix for prefix in prefixes if name.startswith(prefix))
            yield unquote(name.removeprefix(prefix)), tuple(value for other, value in sent if other == name)


def authenticated(caller: Caller) -> Caller:
    """Add system:authenticated, unless the API server has passed the caller on as anonymous."""
    if AUTHENTICATED in caller.groups or UNAUTHENTICATED in caller.groups or caller.name == ANONYMOUS.name:
        return caller
    return replace(caller, groups=(*caller.groups, AUTHENTICATED))


def _first(sent: Headers, names: Sequence[str]) -> str:
    return next((values[0] for name in names if (values := _all(sent, name)) and values[0]), "")


def _all(sent: Headers, name: str) -> list[str]:
    return [value for other, value in sent if other == name]
