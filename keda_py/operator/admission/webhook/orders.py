"""What the webhook process is told first: how to serve, and what of the settings its checks depend on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from keda_py.sdk.registry import scaler_places

if TYPE_CHECKING:
    from keda_py.settings.settings import Settings

IDLE_SECONDS = 180.0
"""After the last connection, which an API server keeps for 90 s: in all, a pause of 4.5 minutes between two writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """`listeners` are descriptors of listening sockets, which the process has inherited."""

    listeners: tuple[int, ...]
    kinds: Mapping[str, str]
    """The kind that is judged at each path of the port."""
    scalers: Mapping[str, str]
    """`scaler_places` of the operator."""
    namespaces: tuple[str, ...]
    """--watch-namespace; outside of these another operator decides."""
    min_tls_version: str
    ciphers: tuple[str, ...]
    client_ca_file: str
    client_names: tuple[str, ...]
    scaler_min_tls_version: str
    scaler_ciphers: tuple[str, ...]
    ca_dirs: tuple[str, ...]
    log_level: int
    idle_seconds: float
    """For so long the process waits for another client before it ends."""


def give_orders(settings: "Settings", kinds: Mapping[str, str], listeners: tuple[int, ...], log_level: int) -> Orders:
    """From the settings of the operator."""
    certificates = settings.certificates
    return Orders(
        listeners=listeners,
        kinds=kinds,
        scalers=scaler_places(),
        namespaces=settings.cluster.watch_namespaces,
        min_tls_version=certificates.min_tls_version,
        ciphers=certificates.ciphers,
        client_ca_file=certificates.webhook_client_ca_file,
        client_names=certificates.webhook_client_names,
        scaler_min_tls_version=settings.http.min_tls_version,
        scaler_ciphers=settings.http.ciphers,
        ca_dirs=certificates.ca_dirs,
        log_level=log_level,
        idle_seconds=IDLE_SECONDS,
    )


def to_wire(orders: Orders) -> dict[str, Any]:
    """For a `begin` message."""
    return asdict(orders)


def from_wire(body: Mapping[str, Any]) -> Orders:
    """What `to_wire` made; lists are tuples again."""
    fields: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in body.items()}
    return Orders(**fields)
