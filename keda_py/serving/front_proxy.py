"""For whom a front proxy speaks: X-Remote-User, -Uid, -Group and -Extra-*, under the names that the cluster gave them.

`authentication.py` comes here once the certificate has proved that it is a front proxy; from any other client such
headers are air. As in Go: of headers of one name the first is the user, all are groups, and an empty one says nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote

from keda_py.serving.caller import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, Caller

REMEMBERED = 256
"""Callers whose headers need not be understood anew at each of their requests: that would cost 10 us."""

Said = tuple[tuple[str, str], ...]
"""The headers that count, (name in lower case, value), in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeaders:
    """Names of headers in lower case, most important first."""

    user: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


class FrontProxy:
    """Reads callers off headers."""

    def __init__(self, names: RequestHeaders) -> None:
        self._names = names
        self._wanted = frozenset((*names.user, *names.uid, *names.group))
        self._read = lru_cache(maxsize=REMEMBERED)(self._understand)

    def caller(self, headers: Mapping[str, str]) -> Caller | None:
        """For whom the proxy speaks; None where it does not say. `headers` may hold a name many times."""
        wanted, prefixes = self._wanted, self._names.extra_prefixes
        said = ((name.lower(), value) for name, value in headers.items())
        return self._read(tuple(one for one in said if one[0] in wanted or one[0].startswith(prefixes)))

    def _understand(self, said: Said) -> Caller | None:
        name = _first(said, self._names.user)
        if not name:
            return None
        groups = tuple(filter(None, (value for header in self._names.group for value in _all(said, header))))
        uid = _first(said, self._names.uid)
        return authenticated(Caller(name=name, uid=uid, groups=groups, extra=tuple(self._extra(said))))

    def _extra(self, said: Said) -> Iterator[tuple[str, tuple[str, ...]]]:
        prefixes = self._names.extra_prefixes
        for name in sorted({name for name, _ in said if name.startswith(prefixes)}):
            prefix = next(prefix for prefix in prefixes if name.startswith(prefix))
            yield unquote(name.removeprefix(prefix)), tuple(value for other, value in said if other == name)


def authenticated(caller: Caller) -> Caller:
    """A front proxy also passes on those whom the API server itself does not know: they stay anonymous."""
    if AUTHENTICATED in caller.groups or UNAUTHENTICATED in caller.groups or caller.name == ANONYMOUS.name:
        return caller
    return replace(caller, groups=(*caller.groups, AUTHENTICATED))


def _first(said: Said, names: Sequence[str]) -> str:
    return next((values[0] for name in names if (values := _all(said, name)) and values[0]), "")


def _all(said: Said, name: str) -> list[str]:
    return [value for other, value in said if other == name]
