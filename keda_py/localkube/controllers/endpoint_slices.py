"""EndpointSlices: the pods that a Service selects, with the ports on which they serve it.

One slice for each Service, named as the real controller names it. A slice that another controller manages is left
alone, whatever Service it is about: the label `endpointslice.kubernetes.io/managed-by` tells them apart.
"""

from collections.abc import Iterable, Iterator

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import PODS
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.store.lifecycle import generated_name
from keda_py.localkube.store.services import SERVICE_NAME
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

SERVICES, SLICES = ("", "services"), ("discovery.k8s.io", "endpointslices")
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"


class EndpointSlices:
    """Maintains one slice for each Service with a selector."""

    storages = (SERVICES, SLICES, PODS)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._services = context.resource("v1", "Service")
        self._pods = context.resource("v1", "Pod")
        self._slices = context.resource("discovery.k8s.io/v1", "EndpointSlice")
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}

    def keys_of(self, event: Event) -> Iterable[Key]:
        """A Service, the Service of a slice, and those that select a pod."""
        if event.resource.key == SERVICES:
            self._note(event)
            return ((event.namespace, event.name),)
        if event.resource.key == SLICES:
            name = (event.object["metadata"].get("labels") or {}).get(SERVICE_NAME)
            return ((event.namespace, name),) if name else ()
        return tuple(self._selecting(event))

    def _note(self, event: Event) -> None:
        selectors = self._selectors.setdefault(event.namespace, {})
        selectors.pop(event.name, None)
        selector = event.object["spec"].get("selector")
        if event.type != DELETED and selector and event.object["spec"].get("type") != "ExternalName":
            selectors[event.name] = selector
        if not selectors:
            del self._selectors[event.namespace]

    def _selecting(self, event: Event) -> Iterator[Key]:
        before = event.previous or event.object
        for name, selector in self._selectors.get(event.namespace, {}).items():
            seen = [(pod["metadata"].get("labels") or {}).items() for pod in (before, event.object)]
            if any(selector.items() <= labels for labels in seen):
                yield (event.namespace, name)

    def sync(self, key: Key) -> None:
        """Write the slice of a Service, or delete it if the Service has no selector any more."""
        selector = self._selectors.get(key[0], {}).get(key[1])
        service = self._context.store.find(self._services, *key)
        own = self._own(*key)
        if service is None or selector is None:
            for one in own if service is not None else ():  # the garbage collector follows a Service that is gone
                self._context.store.delete(self._slices, key[0], one["metadata"]["name"])
            return
        places = self._context.index.pods(key[0], selector)
        members = [pod for place in places if (pod := self._context.at(place)) is not None and _has_address(pod)]
        parts = {
            "endpoints": [_endpoint(pod) for pod in sorted(members, key=lambda pod: str(pod["metadata"]["name"]))],
            "ports": [_port(port, members) for port in service["spec"].get("ports") or ()],
        }
        if not own:
            self._context.store.create(self._slices, _new(service, parts))
        elif any((own[0].get(name) or []) != part for name, part in parts.items()):
            self._context.store.update(self._slices, {**own[0], **parts})

    def _own(self, namespace: str, name: str) -> list[Obj]:
        selector = LabelSelector.of({"matchLabels": {SERVICE_NAME: name, MANAGED_BY: MANAGER}})
        return self._context.store.list(self._slices, namespace, labels=selector)


def _new(service: Obj, parts: Obj) -> Obj:
    meta = service["metadata"]
    prefix = f"{meta['name']}-"
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": meta["namespace"],
            "name": generated_name(prefix),
            "generateName": prefix,
            "labels": {SERVICE_NAME: meta["name"], MANAGED_BY: MANAGER},
            "ownerReferences": [pods.owner_reference(service)],
        },
        "addressType": "IPv4",
        **parts,
    }


def _has_address(pod: Obj) -> bool:
    return bool(pod["status"].get("podIP")) and pod["status"].get("phase") not in ("Succeeded", "Failed")


def _endpoint(pod: Obj) -> Obj:
    meta = pod["metadata"]
    terminating = "deletionTimestamp" in meta
    serving = pods.is_ready(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": serving and not terminating, "serving": serving, "terminating": terminating},
        "nodeName": pod["spec"].get("nodeName", ""),
        "targetRef": {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
    }


def _port(port: Obj, members: list[Obj]) -> Obj:
    """The port of the pods; one that is named is looked up in the first pod's containers."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, str):
        containers = (each for pod in members[:1] for each in pod["spec"].get("containers") or ())
        declared = (one for each in containers for one in each.get("ports") or ())
        target = next((one["containerPort"] for one in declared if one.get("name") == target), port["port"])
    named = {"name": port.get("name") or "", "port": target, "protocol": port.get("protocol") or "TCP"}
    return {**named, **({"appProtocol": port["appProtocol"]} if port.get("appProtocol") else {})}
