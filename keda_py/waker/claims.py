"""Claims of Services to listening ports. A port belongs to the Service whose slice is the oldest that names it."""

from collections.abc import Mapping
from typing import TypeAlias

Made: TypeAlias = tuple[str, str]
"""creationTimestamp and uid of a slice: the API server sets both, so no tenant can write an older one."""
Holder: TypeAlias = tuple[str, str]
"""Key of a Service, and the name of its port."""

MOST_PORTS = 250
"""Ports of a namespace, as many as the operator gives it: slices written by hand take no port of other tenants."""


class Claims:
    """Who holds which port."""

    def __init__(self) -> None:
        self._by_service: dict[str, tuple[Mapping[str, int], Made]] = {}
        self._holders: dict[int, Holder] | None = None
        self._holding: frozenset[str] = frozenset()

    def claim(self, service: str, ports: Mapping[str, int], made: Made) -> None:
        """Set the ports of a Service, by name."""
        if self._by_service.get(service) != (ports, made):
            self._by_service[service] = ports, made
            self._holders = None

    def release(self, service: str) -> None:
        """Forget the claims of a Service."""
        if self._by_service.pop(service, None) is not None:
            self._holders = None

    def holders(self) -> Mapping[int, Holder]:
        """Return the holder of each port that is claimed."""
        if self._holders is None:
            self._holders = self._find()
            self._holding = frozenset(service for service, _ in self._holders.values())
        return self._holders

    def _order(self, item: tuple[str, tuple[Mapping[str, int], Made]]) -> tuple[str, bool, str]:
        """Sort by age; of slices made in the same second, the API server's unit, the one that holds a port keeps it."""
        service, (_, (made, uid)) = item
        return made, service not in self._holding, uid

    def _find(self) -> dict[int, Holder]:
        found: dict[int, Holder] = {}
        held: dict[str, int] = {}
        for service, (ports, _) in sorted(self._by_service.items(), key=self._order):
            namespace = service.partition("/")[0]
            for name, port in ports.items():
                if port not in found and held.get(namespace, 0) < MOST_PORTS:
                    found[port] = service, name
                    held[namespace] = held.get(namespace, 0) + 1
        return found
