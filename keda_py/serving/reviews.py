"""Reviews by the API server: the user of a token (TokenReview), and the rights of a caller (SubjectAccessReview).

Answers are cached for 10 s, yes and no alike, as in API servers' own delegation; tokens only as a digest. A failed
review is a no. Rule: a caller who may read all metrics costs one review, not one for each metric.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, Obj, Resource
from keda_py.kube.transport import Request
from keda_py.serving.caller import ANONYMOUS, AUTHENTICATED, MASTERS, Caller, RequestAttributes

REMEMBER_SECONDS = 10.0
REMEMBERED = 2048
REVIEW_SECONDS = 5.0
# Reviews of one kind under way: unknown clients with invalid tokens must not overload the API server.
AT_ONCE = 16
LONGEST_TOKEN = 16 * 1024
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


# A cache for requests to the API server that every request to us would repeat: each is made once, however many callers
# wait for it. Times are the loop's. An error is not cached, only shared by the callers that wait for it.
class Recent(Generic[K, V]):
    """Cache of at most `size` answers, each for `seconds`; the least recently used is dropped first."""

    def __init__(self, seconds: float, size: int) -> None:
        self._seconds, self._size = seconds, size
        self._known: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._asked: dict[K, asyncio.Future[V]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def peek(self, key: K) -> V | None:
        """Return the answer if it is cached and fresh."""
        found = self._known.get(key)
        if found is None or found[0] <= asyncio.get_running_loop().time():
            return None
        self._known.move_to_end(key)
        return found[1]

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """Return the cached answer, or await `ask()`. Raises what `ask` raises."""
        while True:
            if (found := self.peek(key)) is not None:
                return found
            if (pending := self._asked.get(key)) is None:
                return await self._ask(key, ask)
            try:
                return await asyncio.shield(pending)
            except asyncio.CancelledError:
                if not pending.cancelled():
                    raise  # this caller was cancelled, not the one whose request it waits for

    async def _ask(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        loop = asyncio.get_running_loop()
        waiting = self._asked[key] = loop.create_future()
        try:
            answer = await ask()
        except Exception as error:
            waiting.set_exception(error)
            waiting.exception()  # mark it as retrieved: perhaps no other caller waits
            raise
        else:
            waiting.set_result(answer)
            self._remember(key, (loop.time() + self._seconds, answer))
            return answer
        finally:
            del self._asked[key]
            waiting.cancel()  # no effect unless we were cancelled: then a waiting caller asks itself

    def _remember(self, key: K, entry: tuple[float, V]) -> None:
        self._known[key] = entry
        self._known.move_to_end(key)
        while len(self._known) > self._size:
            self._known.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """Answer of the authoriser: whether the caller is allowed, and its reason."""

    allowed: bool
    reason: str = ""


class TokenReviews:
    """Maps bearer tokens to callers."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._recent: Recent[bytes, Caller] = Recent(REMEMBER_SECONDS, REMEMBERED)
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def caller(self, token: str) -> Caller | None:
        """Return the user of a token; None if it is invalid or the API server cannot be asked."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            return None
        try:
            # Keyed by a digest, so that a dump of this process contains no token of the cache.
            found = await self._recent.get(hashlib.sha256(token.encode()).digest(), lambda: self._ask(token))
        except KubeError:
            return None
        return None if found is ANONYMOUS else found

    async def _ask(self, token: str) -> Caller:
        """Review a token without audiences, which means the API server's own. ANONYMOUS stands for an invalid token."""
        async with self._at_once:
            status = await _review(self._client, TOKEN_REVIEWS, {"token": token})
        user = status.get("user") or {}
        if status.get("authenticated") is not True or not user.get("username"):
            return ANONYMOUS
        groups = tuple(user.get("groups") or ())
        return Caller(
            name=user["username"],
            uid=user.get("uid") or "",
            groups=groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED),
            extra=tuple((key, tuple(values)) for key, values in sorted((user.get("extra") or {}).items())),
        )


class AccessReviews:
    """Decides whether a caller has a right."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._recent: Recent[tuple[Caller, RequestAttributes], AccessDecision] = Recent(REMEMBER_SECONDS, REMEMBERED)
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def decide(self, caller: Caller, wanted: RequestAttributes) -> AccessDecision:
        """Return the authoriser's answer. Raises KubeError if it cannot be asked."""
        # As in API servers: this group has every right, and must work while the authoriser does not.
        if MASTERS in caller.groups:
            return AccessDecision(allowed=True)
        if (
            wanted.resource
            and (await self._verdict(caller, _read_all(wanted.verb, wanted.group, wanted.version))).allowed
        ):
            return AccessDecision(allowed=True)
        return await self._verdict(caller, wanted)

    def is_known_to_be_allowed(self, caller: Caller, wanted: RequestAttributes) -> bool:
        """Return whether `decide` would allow this without a request to the API server."""
        if MASTERS in caller.groups:
            return True
        everything = (_read_all(wanted.verb, wanted.group, wanted.version),) if wanted.resource else ()
        known = (self._recent.peek((caller, right)) for right in (*everything, wanted))
        return any(verdict is not None and verdict.allowed for verdict in known)

    async def _verdict(self, caller: Caller, wanted: RequestAttributes) -> AccessDecision:
        if (known := self._recent.peek((caller, wanted))) is not None:
            return known
        return await self._recent.get((caller, wanted), lambda: self._ask(caller, wanted))

    async def _ask(self, caller: Caller, wanted: RequestAttributes) -> AccessDecision:
        async with self._at_once:
            status = await _review(self._client, SUBJECT_ACCESS_REVIEWS, _question(caller, wanted))
        allowed = status.get("allowed") is True and status.get("denied") is not True
        return AccessDecision(allowed=allowed, reason=str(status.get("reason") or ""))


@lru_cache(maxsize=64)
def _read_all(verb: str, group: str, version: str) -> RequestAttributes:
    """Return the right to read all resources of the group in all namespaces, which the HPA controller has."""
    return RequestAttributes(verb=verb, group=group, version=version, resource="*")


def _question(caller: Caller, wanted: RequestAttributes) -> Obj:
    question: Obj = {"user": caller.name, "groups": list(caller.groups)}
    if caller.uid:
        question["uid"] = caller.uid
    if caller.extra:
        question["extra"] = {key: list(values) for key, values in caller.extra}
    if not wanted.resource:
        return {**question, "nonResourceAttributes": {"verb": wanted.verb, "path": wanted.path}}
    names = ("verb", "group", "version", "namespace", "resource", "subresource", "name")
    attributes = {name: value for name in names if (value := getattr(wanted, name))}
    return {**question, "resourceAttributes": attributes}


async def _review(client: KubeClient, resource: Resource, spec: Obj) -> dict[str, Any]:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    path = resource.collection()
    request = Request(method="POST", path=path, body=body, timeout=REVIEW_SECONDS, resource=resource.plural)
    status: dict[str, Any] = (await client.send(request)).get("status") or {}
    return status
