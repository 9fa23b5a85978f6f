"""APIServices: probes each one's server for the Available condition and for discovery.

A probe runs when the APIService or its Service's endpoints change, and every 30 s (each second while it fails), as in
the real aggregator. Probes are I/O: they run on the loop's real time.
"""

import asyncio
from collections.abc import Iterable

import orjson

from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.model.calls import Call, User
from keda_py.localkube.model.conditions import with_condition
from keda_py.localkube.store.services import SERVICE_NAME, UnresolvedError
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj, Resource

API_SERVICES = ("apiregistration.k8s.io", "apiservices")
SERVICES, ENDPOINTS, SLICES = ("", "services"), ("", "endpoints"), ("discovery.k8s.io", "endpointslices")
PROBING = User(name="system:kube-aggregator", groups=("system:masters",))
HEALTHY_SECONDS, FAILING_SECONDS, PROBE_SECONDS = 30.0, 1.0, 5.0


class ApiServices:
    """Keeps the Available condition of each APIService while `run` is running."""

    storages = (API_SERVICES, SERVICES, ENDPOINTS, SLICES)

    def __init__(self, context: ControllerContext, aggregation: Aggregation) -> None:
        self._context, self._aggregation = context, aggregation
        self._api_services = context.resource("apiregistration.k8s.io/v1", "APIService")
        self._served: dict[str, list[Resource]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._probing: set[str] = set()
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the probes' tasks until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await asyncio.get_running_loop().create_future()

    def keys_of(self, event: Event) -> Iterable[Key]:
        """The APIService, or all whose Service or endpoints changed."""
        if event.resource.key == API_SERVICES:
            if event.type == DELETED:
                self._forget(event.name)
            elif event.previous is None or event.previous["spec"] != event.object["spec"]:
                yield ("", event.name)
            return
        labels = event.object["metadata"].get("labels") or {}
        name = labels.get(SERVICE_NAME, "") if event.resource.key == SLICES else event.name
        for api_service in self._context.store.list(self._api_services):
            service = api_service["spec"].get("service") or {}
            if (service.get("namespace"), service.get("name")) == (event.namespace, name):
                yield ("", api_service["metadata"]["name"])

    def sync(self, key: Key) -> None:
        """Probe one APIService."""
        api_service = self._context.store.find(self._api_services, *key)
        if api_service is None:
            return
        if not api_service["spec"].get("service"):
            self._report(api_service, "True", "Local", "Local APIServices are always available")
        # One probe at a time: a server that does not answer takes five seconds, and endpoints may change faster.
        elif self._tasks is not None and key[1] not in self._probing:
            self._probing.add(key[1])
            self._tasks.create_task(self._probe_again_later(key[1]))

    def close(self) -> None:
        """Cancel all further probes."""
        self._tasks = None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def _probe_again_later(self, name: str) -> None:
        api_service = self._context.store.find(self._api_services, "", name)
        if api_service is not None:
            available = await self._probe(api_service)
            previous = self._timers.pop(name, None)
            if previous is not None:
                previous.cancel()
            seconds = HEALTHY_SECONDS if available else FAILING_SECONDS
            loop = asyncio.get_running_loop()
            self._timers[name] = loop.call_later(seconds, lambda: self._context.loop.add(self, ("", name)))
        self._probing.discard(name)

    async def _probe(self, api_service: Obj) -> bool:
        try:
            backend = self._aggregation.backend(api_service)
        except UnresolvedError as error:
            return self._report(api_service, "False", error.reason, str(error))
        spec = api_service["spec"]
        path = f"/apis/{spec['group']}/{spec['version']}"
        call = Call(method="GET", path=path, headers={"accept": "application/json"}, user=PROBING)
        url = f"{backend.url}{path}"
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                answer = await self._aggregation.ask(api_service, call)
        except TimeoutError:
            return self._report(api_service, "False", "FailedDiscoveryCheck", f"no response from {url}: timed out")
        if answer.status != 200:
            message = f"failing or missing response from {url}: bad status from {url}: {answer.status}"
            return self._report(api_service, "False", "FailedDiscoveryCheck", message)
        self._serve(api_service, orjson.loads(answer.encode()))
        return self._report(api_service, "True", "Passed", "all checks passed")

    def _report(self, api_service: Obj, status: str, reason: str, message: str) -> bool:
        # Read anew: the APIService may have changed, or be gone, since the probe began.
        newest = self._context.store.find(self._api_services, "", api_service["metadata"]["name"])
        if newest is not None:
            condition = {"type": "Available", "status": status, "reason": reason, "message": message}
            before = newest.get("status") or {}
            conditions = with_condition(before.get("conditions"), condition, self._context.now())
            self._context.set_status(self._api_services, newest, {**before, "conditions": conditions})
        return status == "True"

    def _serve(self, api_service: Obj, listed: Obj) -> None:
        """List the server's resources in our discovery; requests for them are forwarded, never routed here."""
        spec, name = api_service["spec"], api_service["metadata"]["name"]
        served = [_resource(spec, row) for row in listed.get("resources") or () if "/" not in row["name"]]
        if served != self._served.get(name):
            self._withdraw(name)
            self._served[name] = served
            for resource in served:
                self._context.store.resources.serve(resource, spec.get("groupPriorityMinimum", 1000))

    def _withdraw(self, name: str) -> None:
        for resource in self._served.pop(name, ()):
            self._context.store.resources.withdraw(resource)

    def _forget(self, name: str) -> None:
        self._withdraw(name)
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def _resource(spec: Obj, row: Obj) -> Resource:
    return Resource(
        group=spec["group"],
        version=spec["version"],
        kind=row["kind"],
        plural=row["name"],
        singular=row.get("singularName") or row["kind"].lower(),
        namespaced=row["namespaced"],
        short_names=tuple(row.get("shortNames") or ()),
        verbs=tuple(row.get("verbs") or ()),
    )
