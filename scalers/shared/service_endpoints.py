"""The endpoints behind a Service, asked one by one and made one number."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

import httpx

from keda_py.errors import KubeError
from keda_py.sdk.advanced import KubeReader
from keda_py.sdk.scaler import ScalerError

Aggregation = Literal["average", "sum", "max", "min"]

_AT_ONCE = 5
_SERVICE_LABEL = "kubernetes.io/service-name"
_AGGREGATE: dict[Aggregation, Callable[[Sequence[float]], float]] = {
    "average": fmean,
    "sum": sum,
    "max": max,
    "min": min,
}


async def endpoint_urls(kube: KubeReader, service_url: str) -> list[str]:
    """The URL for each ready address of the Service `<name>.<namespace>...`; raises ScalerError when none is ready.

    A port that the slices do not name is left to the scheme, as KEDA does.
    """
    url = httpx.URL(service_url)
    service, namespace = url.host.split(".")[:2]
    try:
        slices = await kube.list("endpointslices.discovery.k8s.io", namespace, f"{_SERVICE_LABEL}={service}")
    except KubeError as error:
        raise ScalerError(f"failed to get the endpoints of Service {namespace}/{service}: {error}") from error
    port = url.port or (443 if url.scheme == "https" else 80)
    # A change may show an endpoint in two slices for a while; it counts once.
    urls: dict[str, str] = {}
    for piece in slices:
        asked_port = port if _has_port(piece, port) else None
        for address in _ready_addresses(piece):
            urls.setdefault(address, str(url.copy_with(host=address, port=asked_port)))
    if not urls:
        raise ScalerError(f"Service {namespace}/{service} has no ready endpoint")
    return list(urls.values())


def _has_port(piece: Mapping[str, Any], port: int) -> bool:
    return any(entry.get("port") == port for entry in piece.get("ports") or ())


def _ready_addresses(piece: Mapping[str, Any]) -> list[str]:
    """`conditions.ready` absent means ready, as the API defines it."""
    ready = [item for item in piece.get("endpoints") or () if (item.get("conditions") or {}).get("ready") is not False]
    return [address for item in ready for address in item.get("addresses") or ()]


async def aggregate(urls: Sequence[str], ask: Callable[[str], Awaitable[float]], how: Aggregation) -> float:
    """Ask all, five concurrently, and leave out those that fail. Raises ScalerError when all do."""
    places = asyncio.Semaphore(_AT_ONCE)
    values: list[float] = []
    failures: list[ScalerError] = []

    async def ask_one(url: str) -> None:
        async with places:
            try:
                values.append(await ask(url))
            except ScalerError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as tasks:
        for url in urls:
            tasks.create_task(ask_one(url))
    if not values:
        message = f"could not get any metric successfully from the {len(urls)} provided endpoints"
        raise ScalerError(f"{message}; the first said: {failures[0]}")
    return _AGGREGATE[how](values)
