"""Informers of waking on request: Services, the slices that we write, and the addresses of the wakers.

They run only with `--waker-service`, so that an installation without wakers needs no right to read Services. Objects
are parsed once for each change: a pass over one Service must not cost as much as there are slices in the cluster.
"""

import asyncio
from collections.abc import Iterator, Sequence

from keda_py.apis.foreign import name_of, namespace_of
from keda_py.core.waking.rules import LABEL, LABEL_VALUE, SERVICE_LABEL
from keda_py.core.waking.services import WakeService, read_service
from keda_py.core.waking.slices import SliceSeen, WakerAddress, read_addresses, read_slice
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.resources import ENDPOINT_SLICES, SERVICES, Obj, Selection

_OF_SERVICES = (
    *("clusterIP", "clusterIPs", "type", "selector", "ports"),
    *("internalTrafficPolicy", "externalTrafficPolicy"),
)
_keep_service = only(*(f"spec.{field}" for field in _OF_SERVICES))
Name = tuple[str, str]
"""Namespace and name of a Service."""
PENDING_SECONDS = 1.0
"""For so long a write that the cache does not show holds back the next one."""
UNDATED = ("~", "")
"""Age of a slice that the API server has not dated yet: each stored one is older."""


class WakingCaches:
    """`service` is the headless Service of the wakers in `own_namespace`."""

    def __init__(self, client: KubeClient, namespaces: Sequence[str], own_namespace: str, service: str) -> None:
        where = tuple(namespaces) or ("",)
        ours, wakers = Selection(labels=f"{LABEL}={LABEL_VALUE}"), Selection(labels=f"{SERVICE_LABEL}={service}")
        self.services = Informer(client, InformerSpec(resource=SERVICES, namespaces=where, transform=_keep_service))
        self.slices = Informer(client, InformerSpec(resource=ENDPOINT_SLICES, namespaces=where, selection=ours))
        self.wakers = Informer(
            client, InformerSpec(resource=ENDPOINT_SLICES, namespaces=(own_namespace,), selection=wakers)
        )
        self._services: dict[str, dict[str, WakeService]] = {}
        self._slices: dict[Name, dict[str, SliceSeen]] = {}
        self._claims: dict[int, dict[Name, tuple[str, str]]] = {}
        self.ready_wakers: frozenset[WakerAddress] = frozenset()
        """The addresses of all ready wakers."""
        # The first subscribers: those that come later find the tables as they are after the change.
        self.services.subscribe(self._on_service)
        self.slices.subscribe(self._on_slice)
        self.wakers.subscribe(self._on_wakers)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.services, self.slices, self.wakers):
                tasks.create_task(informer.run(), name=f"informer waking {informer.spec.resource.plural}")

    async def wait_synced(self) -> None:
        """Return once every stored object is known."""
        for informer in (self.services, self.slices, self.wakers):
            await informer.wait_synced()

    def service(self, namespace: str, name: str) -> WakeService | None:
        return self._services.get(namespace, {}).get(name)

    def services_in(self, namespace: str) -> list[WakeService]:
        """Return the Services of a namespace by name."""
        return [one for _, one in sorted(self._services.get(namespace, {}).items())]

    def slices_of(self, namespace: str, service: str) -> list[SliceSeen]:
        """Return our slices of a Service."""
        return list(self._slices.get((namespace, service), {}).values())

    def all_slices(self) -> Iterator[SliceSeen]:
        return (one for several in list(self._slices.values()) for one in list(several.values()))

    def ports_in(self, namespace: str) -> int:
        """Return how many ports of wakers the slices of a namespace claim."""
        return sum(any(name[0] == namespace for name in claims) for claims in self._claims.values())

    def claimed(self, service: Name, port: int) -> tuple[str, str] | None:
        """Return the age of the oldest slice of another Service that claims a port; None if none does."""
        return min((age for name, age in self._claims.get(port, {}).items() if name != service), default=None)

    def _on_service(self, old: Obj | None, new: Obj | None) -> None:
        namespace, name = namespace_of(new or old), name_of(new or old or {})
        there = self._services.setdefault(namespace, {})
        if new is not None:
            there[name] = read_service(new)
            return
        there.pop(name, None)
        if not there:
            del self._services[namespace]

    def _on_slice(self, old: Obj | None, new: Obj | None) -> None:
        for live in (old, new):
            if live is not None:
                seen = read_slice(live)
                self._put_slice(seen, kept=live is new)

    def _put_slice(self, seen: SliceSeen, *, kept: bool) -> None:
        service = (seen.namespace, seen.service)
        there = self._slices.setdefault(service, {})
        for port in there[seen.name].ports.values() if seen.name in there else ():
            claims = self._claims.get(port, {})
            claims.pop(service, None)
            if not claims:
                self._claims.pop(port, None)
        there.pop(seen.name, None)
        if kept:
            there[seen.name] = seen
        for one in there.values():
            for port in one.ports.values():
                claims = self._claims.setdefault(port, {})
                claims[service] = min(claims.get(service, one.age), one.age)
        if not there:
            del self._slices[service]

    def _on_wakers(self, old: Obj | None, new: Obj | None) -> None:
        self.ready_wakers = frozenset(address for live in self.wakers for address in read_addresses(live))


class Proposals:
    """Ports of slices that this process has written and the cache does not show yet.

    Of two Services that fall asleep in one moment, neither is seen by the other in the cache: twelve with twenty ports
    each would have the same port two or three times, and the younger one would have to begin anew with another port.
    """

    def __init__(self) -> None:
        self._by_service: dict[Name, frozenset[int]] = {}
        self._holders: dict[int, Name] = {}

    def put(self, service: Name, ports: frozenset[int]) -> None:
        """Note the ports of a Service, in place of those before."""
        self.drop(service)
        self._by_service[service] = ports
        self._holders |= dict.fromkeys(ports, service)

    def drop(self, service: Name) -> None:
        """Forget a Service, whose slice the cache may show now."""
        for port in self._by_service.pop(service, ()):
            if self._holders.get(port) == service:
                del self._holders[port]

    def ports_in(self, namespace: str) -> int:
        """Return how many ports of a namespace are proposed."""
        return sum(len(ports) for name, ports in self._by_service.items() if name[0] == namespace)

    def has_other(self, service: Name, port: int) -> bool:
        """Return whether a port is proposed for another Service."""
        return self._holders.get(port, service) != service


class OwnWrites:
    """Slices that this process has written and the cache does not show yet.

    Watch events arrive some milliseconds after the answer. A pass meanwhile would create the slice a second time, or
    write over a version that has gone, and the API server would refuse both.
    """

    def __init__(self) -> None:
        self._written: dict[Name, dict[str, tuple[int, float]]] = {}
        """Version and time of the last write, by the name of the slice."""

    def note(self, service: Name, stored: Obj, now: float) -> None:
        """Note a slice as the API server has stored it."""
        meta = stored["metadata"]
        self._written.setdefault(service, {})[meta["name"]] = int(meta["resourceVersion"]), now

    def are_pending(self, service: Name, seen: Sequence[SliceSeen], now: float) -> bool:
        """Return whether the cache is behind, for PENDING_SECONDS at most: a watch may be down."""
        shown = {one.name: int(one.version) for one in seen}
        pending = {
            name: (version, at)
            for name, (version, at) in self._written.pop(service, {}).items()
            if shown.get(name, 0) < version and now - at < PENDING_SECONDS
        }
        if pending:
            self._written[service] = pending
        return bool(pending)
