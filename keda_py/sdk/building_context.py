"""What scalers are lent that are built to be judged and never opened: by the webhook, `validate` and `migrate check`.

A scaler does no I/O before it is opened, so there is neither an HTTP client, whose import takes 0.2 s and 12 MB, nor a
client of the API server. `offline.py` lends to scalers that are opened.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn, cast

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import Connections
from keda_py.clock import Clock, FakeClock
from keda_py.errors import Unavailable
from keda_py.net.operator_identity import IdentityRule
from keda_py.net.tls import TlsContexts
from keda_py.sdk.context import SharedContext, SharedResources

A_SATURDAY = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)
"""Start of the FakeClock where none is given."""
_HTTP_TIMEOUT = 3.0
"""Seconds, KEDA's default of KEDA_HTTP_DEFAULT_TIMEOUT; nothing here takes so long."""


class NoCluster:
    """A `KubeReader` that answers nothing."""

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Mapping[str, Any]]:
        """Raise Unavailable: there is no client of the API server."""
        raise Unavailable("a scaler that is not opened asks nothing of the cluster")

    async def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        """Raise Unavailable: there is no client of the API server."""
        raise Unavailable("a scaler that is not opened asks nothing of the cluster")

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Mapping[str, Any]]:
        """Raise Unavailable: there is no client of the API server."""
        raise Unavailable("a scaler that is not opened asks nothing of the cluster")

    def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncIterator[None]:
        """Raise Unavailable: there is no client of the API server."""
        raise Unavailable("a scaler that is not opened asks nothing of the cluster")


class NoHttp:
    """Stands for the HTTP client."""

    def __getattr__(self, name: str) -> NoReturn:
        """Raise Unavailable: a scaler does no I/O before it is opened."""
        raise Unavailable("a scaler that is not opened asks nothing of any source")


def context_to_build_in(clock: Clock | None = None, tls: TlsContexts | None = None) -> SharedContext:
    """Return what scalers are lent; `tls` makes their TLS contexts, by default those that the system trusts."""
    return SharedContext(
        clock=clock or FakeClock(A_SATURDAY),
        http=cast(Any, NoHttp()),
        http_timeout=_HTTP_TIMEOUT,
        kube=NoCluster(),
        tls=tls or TlsContexts(),
        resources=SharedResources(),
        answers=AnswerBounds(),
        connections=Connections(),
        identities=IdentityRule(),
    )
