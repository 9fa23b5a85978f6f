"""Server behind the page: its files, the state of the cluster by long polls, and the creation of Overrides."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from importlib.resources import files
from secrets import token_hex
from typing import Any

import orjson
from aiohttp import web

from keda_py.apis.foreign import text_at, value_at
from keda_py.clock import Clock
from keda_py.core.values.times import parse_time, write_time
from keda_py.dashboard.door import Door
from keda_py.dashboard.foresight import READ, Foresight
from keda_py.dashboard.state import policies_of, state_of
from keda_py.errors import ConfigError, KedaPyError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.resources import (
    CALENDARS,
    CLUSTER_CALENDARS,
    CLUSTER_ENVIRONMENTS,
    CLUSTER_KEDA_DEFAULTS,
    ENVIRONMENTS,
    NAMESPACES,
    OVERRIDES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    Obj,
    Resource,
    safe_segment,
)
from keda_py.operator.environments.known.caches import MEMBERS, keep_member
from keda_py.preview.period import usual_zone
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.table import PortLimits
from keda_py.terminal.foreign import printable_values

WATCHED = (*READ, SCALED_JOBS, *MEMBERS, CLUSTER_ENVIRONMENTS)
POLL_SECONDS = 25.0
# Pause after a change, so that changes that come together are shown together.
GATHER_SECONDS = 0.3
MOST_BYTES = 4096
PAGES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def _spec(resource: Resource, namespace: str) -> InformerSpec:
    """Describe an informer; of members of Environments only the parts about their counts are kept."""
    where = (namespace if resource.namespaced else "",)
    if resource in MEMBERS:
        return InformerSpec(resource=resource, namespaces=where, transform=keep_member)
    if resource is NAMESPACES:
        return InformerSpec(resource=resource, transform=only("metadata.labels"))
    return InformerSpec(resource=resource, namespaces=where)


class Dashboard:
    """Watches with the user's rights, and answers the page."""

    def __init__(self, client: KubeClient, namespace: str, clock: Clock) -> None:
        self._client, self._clock, self.door = client, clock, Door()
        self._informers = {one: Informer(client, _spec(one, namespace)) for one in WATCHED}
        self._version, self._changed = 1, asyncio.Event()
        self._foresight = Foresight(client, self._informers, clock, self._note_forecasts)

    @asynccontextmanager
    async def running(self, port: int) -> AsyncIterator[str]:
        """Serve on loopback while the block lasts; the address to open. Raises OSError where the port is taken."""
        app = web.Application(middlewares=[self.door.check], client_max_size=MOST_BYTES)
        app.on_response_prepare.append(self.door.shut)
        for path in PAGES:
            app.router.add_get(path, self._page)
        app.router.add_get("/api/state", self._state)
        app.router.add_post("/api/override", self._override)
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(one.run()) for one in self._informers.values()]
            server = LimitedServer(app, PortLimits(connections=50))
            stack.push_async_callback(server.aclose)
            try:
                self.door.port = await server.start("127.0.0.1", port, None)
                for resource, informer in self._informers.items():
                    # Subscribed after the first list: its objects would each make a new version of the page.
                    await informer.wait_tried()
                    informer.subscribe(self._note_member if resource in MEMBERS else self._note)
                watching.append(tasks.create_task(self._foresight.run()))
                yield self.door.address
            finally:
                # Wakes the long polls, which would hold up the end of the server for POLL_SECONDS.
                self._changed.set()
                for task in watching:
                    task.cancel()

    def _note(self, old: Obj | None, new: Obj | None) -> None:
        self._foresight.note()
        self._note_forecasts()

    def _note_member(self, old: Obj | None, new: Obj | None) -> None:
        """Show the change of a member; it does not make a new forecast necessary."""
        self._note_forecasts()

    def _note_forecasts(self) -> None:
        self._version += 1
        self._changed.set()

    async def _page(self, request: web.Request) -> web.Response:
        name, kind = PAGES[request.path]
        body = (files("keda_py.dashboard") / "static" / name).read_bytes()
        return web.Response(body=body, content_type=kind, charset="utf-8")

    async def _state(self, request: web.Request) -> web.Response:
        """Return the state as soon as it differs from the version that the page has."""
        if request.query.get("after") == str(self._version):
            self._changed.clear()
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._changed.wait()
                    await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                pass
        version = self._version
        state = {"version": version, "unread": self._unread(), **self._page_state()}
        return web.Response(body=orjson.dumps(printable_values(state)), content_type="application/json")

    def _page_state(self) -> dict[str, Any]:
        objects = [one for kind in (SCALED_OBJECTS, SCALED_JOBS) for one in self._informers[kind].objects()]
        environments, overrides = (self._informers[kind].objects() for kind in (ENVIRONMENTS, OVERRIDES))
        workloads = [one for kind in MEMBERS for one in self._informers[kind].objects()]
        state = state_of(objects, environments, overrides, self._foresight.forecasts, self._clock.now(), workloads)
        policies = policies_of(self._informers[CLUSTER_ENVIRONMENTS].objects(), environments)
        return {
            **state,
            "policies": policies,
            "zone": self._zone(),
            "overridable": self._informers[OVERRIDES].error is None,
        }

    def _zone(self) -> str:
        """Return the zone of most calendars, else of most windows."""
        kinds = (ENVIRONMENTS, CALENDARS, CLUSTER_CALENDARS)
        calendars = [ManifestSource(body=one) for kind in kinds for one in self._informers[kind].objects()]
        windows = (ManifestSource(body=one) for one in self._informers[SCALED_OBJECTS].objects())
        return usual_zone(calendars) or usual_zone(windows) or "UTC"

    def _unread(self) -> dict[str, str]:
        """Return the kinds that the user may not read, and why; a kind that is not installed has no objects.

        Labels of namespaces matter only to ClusterKedaDefaults that select by them, and ClusterEnvironments are shown
        to those who may list them.
        """
        optional = {CLUSTER_ENVIRONMENTS.plural}
        errors = ((kind.plural, informer.error) for kind, informer in self._informers.items())
        if not any(value_at(one, "spec", "namespaceSelector") for one in self._informers[CLUSTER_KEDA_DEFAULTS]):
            optional.add(NAMESPACES.plural)
        return {
            plural: str(error)
            for plural, error in errors
            if error is not None and not isinstance(error, NotFound) and plural not in optional
        }

    async def _override(self, request: web.Request) -> web.Response:
        try:
            asked = orjson.loads(await request.read())
            created = await self._client.create(OVERRIDES, override_of(asked, self._clock.now()))
        except (orjson.JSONDecodeError, ConfigError) as error:
            return web.json_response({"error": str(error)}, status=400)
        except KedaPyError as error:
            return web.json_response({"error": str(error)}, status=502)
        return web.json_response({"created": created["metadata"]["name"]})


# Overrides of the page's buttons: for a while, with a reason, with the user's rights. Pure but for the random name.

FIELDS = ("namespace", "kind", "name", "state", "until", "reason")
STATES = ("Awake", "Asleep")
KINDS = ("Environment", "ScaledObject")
MOST = timedelta(days=31)
MOST_REASON = 300


def override_of(asked: Any, now: datetime) -> dict[str, Any]:
    """Build the manifest of a request of the page. Raises ConfigError that says which field is wrong."""
    if not isinstance(asked, Mapping):
        raise ConfigError("the question is not a JSON object")
    texts = {field: text_at(asked, field).strip() for field in FIELDS}
    if wrong := [field for field, text in texts.items() if not text]:
        raise ConfigError(f"{wrong[0]}: is missing")
    if texts["state"] not in STATES or texts["kind"] not in KINDS:
        raise ConfigError(f"state is {' or '.join(STATES)}, kind is {' or '.join(KINDS)}")
    until = parse_time(texts["until"], field="until")
    if not now < until <= now + MOST:
        raise ConfigError(f"until: {write_time(until)} is not within the next {MOST.days} days; choose a later time")
    if len(texts["reason"]) > MOST_REASON:
        raise ConfigError(f"reason: is longer than {MOST_REASON} characters")
    namespace, name = (safe_segment(field, texts[field]) for field in ("namespace", "name"))
    own = f"{texts['state'].lower()}-{name[:200].rstrip('.-')}-{token_hex(3)}"
    spec = {
        "target": {"kind": texts["kind"], "name": name},
        "state": texts["state"],
        "until": write_time(until),
        "reason": texts["reason"],
    }
    metadata = {"namespace": namespace, "name": own}
    return {"apiVersion": "keda-py.dev/v1alpha1", "kind": "Override", "metadata": metadata, "spec": spec}
