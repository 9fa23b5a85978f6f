"""`EngineContext`, which the engine lends to a scaler, and the resources that scalers share.

One `EngineContext` per trigger; it is closed after its scaler, which gives back what the scaler took. One
`SharedResources` per process. Both are used by the operator and, unchanged, by tests.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from keda_py.answers.bounds import AnswerBounds, size_of
from keda_py.answers.connections import Connections
from keda_py.answers.ledger import NoRoom
from keda_py.answers.work_context import note_server
from keda_py.clock import Clock
from keda_py.core.documents.json_values import INLINE_BYTES, required_at
from keda_py.errors import Forbidden, ScalerError
from keda_py.net.credential_keys import SharingKey, check_sharing_key
from keda_py.net.operator_identity import Destination, IdentityRule
from keda_py.net.tls import TlsContexts, TlsSettings
from keda_py.sdk.scaler_context import KubeReader, MetricType, PodIdentity, WakeReader

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
EVERY = "*"


class _Entry:
    """A shared resource and who uses it; `made` is None until the factory has answered."""

    __slots__ = ("close", "key", "lock", "made", "users")

    def __init__(self, key: SharingKey) -> None:
        self.key, self.lock, self.users = key, asyncio.Lock(), 0
        self.made: tuple[Any] | None = None
        self.close: Callable[[Any], Awaitable[None]]


class SharedResources:
    """Resources by key, made for the first user and closed with the last."""

    def __init__(self) -> None:
        self._entries: dict[SharingKey, _Entry] = {}

    async def take(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """Return the resource, made by the first caller while others wait. A factory that fails leaves nothing.

        Raises ConfigError for a key of another type.
        """
        check_sharing_key(key, "the key of a shared resource")
        entry = self._entries.setdefault(key, _Entry(key))
        # The user is counted before the first await: a last `give_back` meanwhile would close the resource under it.
        entry.users += 1
        try:
            async with entry.lock:
                if entry.made is None:
                    entry.made, entry.close = (await factory(),), close
            resource: T = entry.made[0]
            return resource
        except BaseException:
            self._leave(key, entry)
            raise

    def key_of(self, key: SharingKey) -> SharingKey:
        """Return the equal key of a taken resource: one for all its users, of whom each keeps it until the end."""
        return self._entries[key].key

    async def give_back(self, key: SharingKey) -> None:
        """Count one user less, and close the resource after the last one."""
        entry = self._entries[key]
        if self._leave(key, entry) and entry.made is not None:
            await entry.close(entry.made[0])

    def _leave(self, key: SharingKey, entry: _Entry) -> bool:
        entry.users -= 1
        if not entry.users:
            del self._entries[key]
        return not entry.users


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Namespaces that triggers may read besides their own, and Secrets that they may not read even there.

    `endpoints_of`: namespaces whose EndpointSlices triggers of all namespaces may read; "*": of each.
    `secrets_of`: the one namespace whose Secrets may be read; None: each trigger's own.
    """

    endpoints_of: frozenset[str] = frozenset()
    secrets_of: str | None = None


class OwnNamespace:
    """Restrict the operator's `KubeReader` to what one trigger may read: less than the operator. Raises Forbidden."""

    def __init__(self, reader: KubeReader, namespace: str, reach: Reach) -> None:
        self._reader, self._namespace, self._reach = reader, namespace, reach

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Mapping[str, Any]]:
        self._check("pods", namespace)
        return await self._reader.pods(namespace, label_selector)

    async def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        self._check(resource, namespace)
        return await self._reader.get(resource, namespace, name)

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Mapping[str, Any]]:
        self._check(resource, namespace)
        return await self._reader.list(resource, namespace, label_selector)

    def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncIterator[None]:
        self._check(resource, namespace)
        return self._reader.changes(resource, namespace, name=name, label_selector=label_selector)

    def _check(self, resource: str, namespace: str) -> None:
        plural, remedy = resource.partition(".")[0], ""
        allowed = namespace == self._namespace
        if plural == "endpointslices":
            allowed = allowed or (namespace != "" and not self._reach.endpoints_of.isdisjoint((namespace, EVERY)))
            remedy = "; an administrator may name it in --cross-namespace-endpoints"
        elif plural == "secrets" and self._reach.secrets_of is not None:
            allowed = allowed and namespace == self._reach.secrets_of
            remedy = f"; under KEDA_RESTRICT_SECRET_ACCESS only Secrets of {self._reach.secrets_of} are read"
        if not allowed:
            what = f'triggers of namespace "{self._namespace}" may not read {plural} of namespace "{namespace}"'
            raise Forbidden(f"{what}{remedy}", status=403, reason="Forbidden")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContext:
    """Resources that all triggers of a process have in common."""

    clock: Clock
    http: "httpx.AsyncClient"
    http_timeout: float
    kube: KubeReader
    tls: TlsContexts
    resources: SharedResources
    reach: Reach = Reach()
    answers: AnswerBounds
    connections: Connections
    identities: IdentityRule
    wakes: WakeReader | None = None


@dataclass(slots=True, kw_only=True)
class EngineContext:
    """The `context` of one trigger's scaler: all that `keda_py.sdk.advanced.ScalerContext` promises.

    In a test, `shared_context()` of `keda_py.testing` lends what all triggers share; what the scaler takes by `shared`
    is given back by `aclose`, after the scaler's own `aclose`. `trigger_index` counts from 0, as the prefix `s0-` does.

    >>> import asyncio
    >>> from keda_py.testing import EngineContext, Objects, config_map, shared_context
    >>> async def read() -> None:
    ...     async with shared_context(kube=Objects(configmaps=[config_map("tap", {"level": "7"})])) as lent:
    ...         context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    ...         print((await context.kube.get("configmaps", "default", "tap"))["data"], context.http_timeout)
    ...         await context.aclose()
    >>> asyncio.run(read())
    {'level': '7'} 3.0
    """

    shared_context: SharedContext
    namespace: str
    scaled_object: str
    trigger_index: int
    trigger_name: str = ""
    metric_type: MetricType | Literal[""] = ""
    as_metric_source: bool = False
    pod_identity: PodIdentity = field(default_factory=PodIdentity)
    _taken: list[SharingKey] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        return self.shared_context.clock

    @property
    def wakes(self) -> WakeReader | None:
        return self.shared_context.wakes

    @property
    def http(self) -> "httpx.AsyncClient":
        return self.shared_context.http

    @property
    def http_timeout(self) -> float:
        return self.shared_context.http_timeout

    @property
    def kube(self) -> KubeReader:
        return OwnNamespace(self.shared_context.kube, self.namespace, self.shared_context.reach)

    def tls_context(self, settings: TlsSettings) -> ssl.SSLContext:
        return self.shared_context.tls.get(settings, self.namespace)

    @asynccontextmanager
    async def connection(self, server: str = "") -> AsyncIterator[None]:
        """Hold one of the namespace's share; wait half as long as a question may take, since it may be tried twice."""
        note_server(server)
        try:
            give_back = await self.shared_context.connections.take(None, self.http_timeout / 2)
        except NoRoom as error:
            raise ScalerError(str(error)) from None
        try:
            yield
        finally:
            give_back()

    def check_identity(self, identity: str, to: Destination) -> None:
        """Raise ConfigError where the operator's own identity must not go."""
        self.shared_context.identities.check(identity, to)

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """A shared resource, given back by `aclose`."""
        resource = await self.shared_context.resources.take(key, factory, close)
        self._taken.append(self.shared_context.resources.key_of(key))
        return resource

    async def parse(
        self,
        function: Callable[..., T],
        text: bytes | str,
        *arguments: object,
        inline_bytes: int,
        timeout: float | None = None,
    ) -> T:
        """`function(text, *arguments)`: here where the text is short, else in a process of its own."""
        answers = self.shared_context.answers
        if size_of(text) <= inline_bytes:
            return function(text, *arguments)
        # Virtual time of simulations and tests must not pass while another process works.
        answers.check(text)
        with self.clock.busy():
            return await answers.parse(self.namespace, function, text, arguments, timeout or self.http_timeout)

    async def get_json(
        self,
        url: str,
        *steps: str | int,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str | list[str]] | None = None,
        tls: TlsSettings | None = None,
    ) -> Any:
        """Ask by GET; parse a long answer in another process."""
        # Heavy, and not needed by processes that build scalers and ask none.
        import httpx

        from keda_py.sdk.http_failures import address_of, http_failure, question_of, shown

        what = question_of("GET", shown(url))
        extensions = {} if tls is None else {"ssl": self.tls_context(tls)}
        try:
            address = address_of(url)
            if parameters:
                address = address.copy_merge_params(dict(parameters))
            answer = await self.http.get(address, headers=headers, timeout=self.http_timeout, extensions=extensions)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise http_failure(error, what, self.http_timeout) from None
        if not answer.is_success:
            raise ScalerError(f"{what}: status {answer.status_code}")
        try:
            return await self.parse(required_at, answer.content, steps, inline_bytes=INLINE_BYTES)
        except ScalerError as error:
            raise ScalerError(f"{what}: {error}") from None

    async def aclose(self) -> None:
        """Give back everything that the scaler took."""
        # Last taken, first returned: a resource may use one that was taken before it.
        while self._taken:
            await self.shared_context.resources.give_back(self._taken.pop())
