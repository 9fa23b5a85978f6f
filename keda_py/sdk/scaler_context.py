"""The engine's side of a scaler, as protocols: `context.py` has the real thing."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from keda_py.clock import Clock
from keda_py.net.credential_keys import SharingKey
from keda_py.net.operator_identity import Destination
from keda_py.net.tls import TlsSettings

if TYPE_CHECKING:
    import httpx

    from keda_py.core.waking.spec import WakeSpec

T = TypeVar("T")

MetricType = Literal["AverageValue", "Value", "Utilization"]


class KubeReader(Protocol):
    """Read access to the cluster, from caches where there are any. Raises KubeError.

    Of the trigger's own namespace: another one is Forbidden, unless the installation allows it for EndpointSlices.
    """

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Mapping[str, Any]]:
        """Pods with metadata.name, metadata.labels, spec.nodeName, status.phase and status.conditions."""
        ...

    async def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        """One object; `resource` is `configmaps`, `secrets`, `services`..., or `endpointslices.discovery.k8s.io`."""
        ...

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Mapping[str, Any]]:
        """Objects of a namespace that match the selector."""
        ...

    def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncIterator[None]:
        """Yield at first, and after each change of that object, or of `pods` that match.

        A pod changes when it comes or goes, and with its labels, node and phase. Many changes are one signal a second.
        Signals cost no request; an object that may not be watched is noticed up to a minute later, or never.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PodIdentity:
    """`podIdentity` of the TriggerAuthentication; provider `none` if not set.

    `cluster_wide`: it stands in a ClusterTriggerAuthentication, so its authority host is the installation's choice.
    """

    provider: str = "none"
    identity_id: str = ""
    identity_tenant_id: str = ""
    identity_authority_host: str = ""
    role_arn: str = ""
    external_id: str = ""
    cluster_wide: bool = False


class WakeReader(Protocol):
    """Requests that wake ScaledObjects, as far as they are known."""

    def last_request(self, namespace: str, name: str) -> datetime | None:
        """Return when a waker last held a request for it, give or take a tenth of `stay`; None without one."""
        ...

    def obstacle(self, namespace: str, name: str, wake: "WakeSpec") -> str:
        """Say why no request can wake it now, with a remedy; "" if requests can."""
        ...


class ScalerContext(Protocol):
    """Everything that the engine gives to one trigger's scaler."""

    @property
    def namespace(self) -> str: ...

    @property
    def scaled_object(self) -> str: ...

    @property
    def trigger_index(self) -> int: ...

    @property
    def trigger_name(self) -> str: ...

    @property
    def metric_type(self) -> MetricType | Literal[""]:
        """The trigger's `metricType` as written, "" where it is absent."""
        ...

    @property
    def as_metric_source(self) -> bool:
        """True under scalingModifiers: the target of the formula counts, so some targets stop being required."""
        ...

    @property
    def pod_identity(self) -> PodIdentity: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def wakes(self) -> WakeReader | None:
        """Requests that wake; None where no wakers are installed."""
        ...

    @property
    def http(self) -> "httpx.AsyncClient":
        """The shared HTTP client: pooled, time-limited, proxies from the environment. Never closed by a scaler.

        A request may carry its own TLS context: `extensions={"ssl": context}`; see `tls_context`. No redirect takes a
        credential to another origin; what a request says of that is the extension `redirects`, a `RedirectRule`.
        """
        ...

    async def get_json(
        self,
        url: str,
        *steps: str | int,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str | list[str]] | None = None,
        tls: TlsSettings | None = None,
    ) -> Any:
        """Ask by GET, and return the value at these steps of the JSON answer: names of objects, indexes of lists.

        `get_json(url, "queues", 0, "length")`; without steps it is the whole document. `parameters` join those of the
        address. A long answer is parsed in another process, which returns 64 KiB at most: name the field that counts.
        Raises ScalerError where no answer came, its status is not 2xx, it is not JSON, or the value is missing or null;
        the error names the address without user and query, and repeats nothing of the answer.
        """
        ...

    def tls_context(self, settings: TlsSettings) -> ssl.SSLContext:
        """The client's TLS context for these settings, the same object for the same settings. Raises ConfigError."""
        ...

    def check_identity(self, identity: str, to: Destination) -> None:
        """Check, before it is used, that the operator's own identity may go there. Raises ConfigError if not.

        `identity` is what an error calls it, as in "AWS role".
        """
        ...

    @property
    def http_timeout(self) -> float:
        """Seconds; KEDA_HTTP_DEFAULT_TIMEOUT."""
        ...

    def connection(self, server: str = "") -> AbstractAsyncContextManager[None]:
        """Hold a place for a connection of the scaler's own while it is open; `http` does that itself.

        `server`, host and port, is what the error calls it where the engine has to end a question.
        Each namespace has a share of connections; raises ScalerError where none is free in time.
        """
        ...

    @property
    def kube(self) -> KubeReader:
        """The cluster, read only."""
        ...

    async def parse(
        self,
        function: Callable[..., T],
        text: bytes | str,
        *arguments: object,
        inline_bytes: int,
        timeout: float | None = None,
    ) -> T:
        """`function(text, *arguments)`: here and now, or in another process for a text of more than `inline_bytes`.

        For text that a source or a tenant wrote: what takes over 10 ms of CPU does not belong on the operator's loop,
        and what eats memory or never ends is ended there, within `timeout` seconds (None: `http_timeout`). The function
        is at the top level of a module that imports little; it raises ScalerError, and arguments and value are plain
        JSON. Choose `inline_bytes` by measuring the worst text. Raises ScalerError, also for a text that is too long.
        """
        ...

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """A resource shared by all scalers with that key (a connection pool); closed with its last scaler.

        `sharing_key(self.context.namespace, (...what it is...), ...credential...)` makes the key.
        """
        ...
