"""Reading a cluster with the rights of the user who asks."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from keda_py.clock import FakeClock
from keda_py.errors import Forbidden, NotFound
from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, EVERYTHING, SECRETS, Obj, ObjectPath, Resource, Selection
from keda_py.replay.previews import Preview, preview
from keda_py.replay.reading.cluster import ENVIRONMENTS, OVERRIDES, ClusterReading
from keda_py.replay.reading.current_state import with_current_counts
from keda_py.replay.reading.manifests import ManifestSource, read_plans
from tests.builders import config_map, deployment
from tests.preview.builders import BEGINS, app, dev, moves, the
from tests.worlds.world import open_world

ICS = {"ics": {"configMapKeyRef": {"name": "fair", "key": "ics"}}}


class Stored:
    """A cluster of these objects, in which some kinds may not be listed and some are not installed."""

    def __init__(self, *bodies: Obj, forbidden: tuple[Resource, ...] = (), missing: tuple[Resource, ...] = ()) -> None:
        self._bodies, self._forbidden, self._missing = bodies, forbidden, missing
        self.asked: list[str] = []

    async def list(self, resource: Resource, namespace: str = "", selection: Selection = EVERYTHING) -> list[Obj]:
        if selection is not EVERYTHING:  # the operator's own
            return await self.list(resource) if resource in self._forbidden else []
        self.asked.append(resource.plural)
        if resource in self._forbidden:
            raise Forbidden(f"cannot list {resource.plural}")
        if resource in self._missing:
            raise NotFound("the server could not find the requested resource")
        found = [body for body in self._bodies if body["kind"] == resource.kind]
        return [{key: value for key, value in body.items() if key not in ("kind", "apiVersion")} for body in found]

    async def get(self, path: ObjectPath) -> Obj:
        for body in await self.list(path.resource):
            if body["metadata"]["name"] == path.name:
                return body
        raise NotFound(path.name)


def kinds(sources: list[ManifestSource]) -> list[str]:
    return sorted(source.body["kind"] for source in sources)


def holidays() -> dict[str, Any]:
    hours = [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]
    return {"timeZone": "UTC", "hours": hours, "holidays": [ICS]}


async def test_workloads_and_files_are_read_where_an_environment_needs_them() -> None:
    stored = Stored(app(), dev(calendar=holidays()), deployment(namespace="shop"), config_map("fair", "shop"))
    assert kinds(await ClusterReading(stored, "").read()) == ["ConfigMap", "Deployment", "Environment", "ScaledObject"]
    assert SECRETS.plural not in stored.asked


async def test_nothing_else_is_read_without_environments() -> None:
    stored = Stored(app(), deployment(namespace="shop"), missing=(ENVIRONMENTS, OVERRIDES))
    assert kinds(await ClusterReading(stored, "").read()) == ["ScaledObject"]
    assert not {DEPLOYMENTS.plural, CONFIG_MAPS.plural} & set(stored.asked)


async def test_what_may_not_be_listed_is_told() -> None:
    reading = ClusterReading(Stored(app(), forbidden=(OVERRIDES,)), "shop")
    await reading.read()
    assert reading.unread == ["overrides may not be listed, so what they rule is not told: cannot list overrides"]


async def test_a_real_client_reads_a_cluster(tmp_path: Path) -> None:
    async with open_world(tmp_path, clock=FakeClock(BEGINS)) as world:
        await world.apply({**app(), "metadata": {"name": "app", "namespace": "default"}})
        reading = ClusterReading(world.client, "default")
        assert "ScaledObject" in kinds(await reading.read())
        assert reading.unread == []


NIGHT = BEGINS + timedelta(hours=22)
OFFICE = ({"days": "Mon-Fri", "from": "08:00", "to": "18:00"},)


def tonight(*bodies: Obj) -> Preview:
    """The two days from 22:00 on, of what is in a cluster then."""
    ends, sources = NIGHT + timedelta(days=2), [ManifestSource(body=body) for body in bodies]
    plans = [with_current_counts(plan, sources, NIGHT) for plan in read_plans(sources, NIGHT, ends)]
    return preview(plans, NIGHT, ends, NIGHT)


def asleep_with(**members: Obj) -> Obj:
    told = {f"{kind}/{name}": member for kind, (name, member) in members.items()}
    status = {"phase": "Asleep", "phaseSince": "2026-11-23T18:00:00Z", "members": told}
    return dev(hours=OFFICE, grace="30m") | {"status": status}


def young(body: Obj) -> Obj:
    return {**body, "metadata": {**body["metadata"], "creationTimestamp": "2026-11-23T21:50:00Z"}}


def test_what_sleeps_already_does_not_fall_asleep_again() -> None:
    """Ten minutes old, both would be left alone until their grace is over: the preview showed a fall at 22:20."""
    down = {"stage": "Down", "replicas": 2, "since": "2026-11-23T21:55:00Z"}
    found = tonight(
        asleep_with(Deployment=("web", down), ScaledObject=("app", {**down, "replicas": 0})),
        young(deployment("web", 0, namespace="shop")),
        young(app(minReplicaCount=1)),
        young(deployment("app", 0, namespace="shop")),
    )
    assert moves(the("Deployment/web", found)) == [
        ("Tue 08:00:00", 0, 2),
        ("Tue 18:00:00", 2, 0),
        ("Wed 08:00:00", 0, 2),
        ("Wed 18:00:00", 2, 0),
    ]
    assert moves(the("ScaledObject/app", found))[0] == ("Tue 08:00:00", 0, 2)


def test_what_a_person_keeps_up_stays_up_for_the_night() -> None:
    kept = {"stage": "Kept", "replicas": 2, "since": "2026-11-23T21:00:00Z"}
    found = tonight(asleep_with(Deployment=("web", kept)), deployment("web", 3, namespace="shop"))
    assert moves(the("Deployment/web", found))[:2] == [("Tue 08:00:00", 3, 2), ("Tue 18:00:00", 2, 0)]


def test_what_is_up_though_it_should_sleep_falls_asleep_from_now_on() -> None:
    found = tonight(asleep_with(), app(minReplicaCount=1), deployment("app", 3, namespace="shop"))
    assert moves(the("ScaledObject/app", found))[0] == ("Mon 22:00:00", 3, 0)
