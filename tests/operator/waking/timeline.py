"""Timeline of a test of waking: objects as they are stored, lost connections and log lines, in order and in one file.

What a soak loses once in a thousand requests is only understood by what was written, and by whom, around that moment.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.core.waking.rules import ANNOTATION, LABEL, REQUEST_ANNOTATION, read_rules
from keda_py.kube.resources import Obj
from keda_py.localkube.store.subscriptions import DELETED, Event
from tests.worlds.stored import Stored


class Timeline(logging.Handler):
    """Lines with the loop's time in seconds."""

    def __init__(self, world: Stored) -> None:
        super().__init__(logging.INFO)
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._lines: list[str] = []
        self._last: dict[tuple[str, str], str] = {}
        world.listen(self._hear)

    def note(self, text: str) -> None:
        """Add a line."""
        self._lines.append(f"{self._loop.time() - self._began:9.3f} {text}")

    def emit(self, record: logging.LogRecord) -> None:
        """Add a log line of the operator."""
        self.note(f"{record.levelname} {record.getMessage()}")

    @contextmanager
    def kept(self, path: Path) -> Iterator[None]:
        """Take the operator's log meanwhile, and write all lines to a file at the end."""
        log = logging.getLogger("keda_py.operator")
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)
            path.write_text("\n".join(self._lines) + "\n")

    def _hear(self, event: Event) -> None:
        text = ("deleted, " if event.type == DELETED else "") + _describe(event.resource.kind, event.object)
        key = event.resource.kind, event.name
        if event.resource.kind in _DESCRIBED and self._last.get(key) != text:
            self._last[key] = text
            self.note(f"{event.resource.kind} {event.name}: {text}")


_DESCRIBED = ("Deployment", "EndpointSlice", "Environment", "Lease", "Override")


def _describe(kind: str, live: Obj) -> str:
    spec, status = map_at(live, "spec"), map_at(live, "status")
    match kind:
        case "Deployment":
            return f"{spec['replicas']} wanted, {status.get('readyReplicas', 0)} ready"
        case "EndpointSlice":
            return _describe_slice(live)
        case "Environment":
            reasons = {one["type"]: one.get("reason") for one in maps_at(status, "conditions")}
            return f"{text_at(status, 'phase')}, {reasons}, {text_at(status, 'because')}"
        case "Lease":
            return f"held by {spec.get('holderIdentity')}"
        case _:
            created = live["metadata"]["creationTimestamp"]
            return f"{spec.get('state')} until {spec.get('until')}, created {created}, {text_at(status, 'phase')}"


def _describe_slice(live: Obj) -> str:
    ready = [one["addresses"][0] for one in maps_at(live, "endpoints") if map_at(one, "conditions").get("ready")]
    annotations = texts_at(live, "metadata", "annotations")
    if LABEL not in texts_at(live, "metadata", "labels"):
        return f"pods at {ready}"
    asked = f", asked by {annotations[REQUEST_ANNOTATION]}" if REQUEST_ANNOTATION in annotations else ""
    return f"wakers at {ready}, {read_rules(annotations[ANNOTATION]).state}{asked}"
