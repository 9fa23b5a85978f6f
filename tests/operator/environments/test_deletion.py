"""`deleteAfter`: a namespace that is not used is deleted, a day after it was announced, and only if its label allows it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, PERSISTENT_VOLUME_CLAIMS, Obj
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.environments.deletion.counts import NAME as COUNTS
from tests.builders import a_namespace, deployment, environment, obj, override
from tests.http_server import HttpServer
from tests.operator.environments.builders import labelled, until
from tests.operator.environments.killing import Kills
from tests.worlds.world import World, open_world

ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
ON = {"delete-namespaces": "true"}
PREVIEW = "pr-1"


@pytest.fixture
async def cluster(tmp_path: Path, server: HttpServer) -> AsyncIterator[World]:
    """A preview namespace whose label allows its deletion, under an operator that may delete."""
    async with open_world(tmp_path, server) as world:
        world.operator.flags = ON
        await world.create(a_namespace("keda"))
        await world.operator.start()
        await populate(world)
        yield world


async def populate(world: World, name: str = PREVIEW, allowed: str = "true", **spec: Any) -> None:
    labels = {"keda-py.dev/allow-deletion": allowed} if allowed else {}
    await world.create(labelled(a_namespace(name), **labels))
    await world.create(deployment("web", 2), namespace=name)
    wanted = {"calendar": ALWAYS, "idleAfter": "2h", "deleteAfter": "48h", **spec}
    await world.create(environment("dev", name, **wanted))


def deletion(world: World, name: str = PREVIEW) -> Obj | None:
    found: Obj | None = (world.get(ENVIRONMENTS, "dev", name).get("status") or {}).get("deletion")
    return found


def blocked(world: World, name: str = PREVIEW) -> str:
    text: str = (deletion(world, name) or {}).get("blocked", "")
    return text


def told(world: World) -> list[str]:
    """Reasons of the Events about deletions from now on, each with its note."""
    notes: list[str] = []

    def hear(event: Event) -> None:
        if event.resource.plural == "events" and event.previous is None and "Deletion" in event.object["reason"]:
            notes.append(f"{event.object['reason']}: {event.object.get('message') or event.object.get('note')}")

    world.listen(hear)
    return notes


def exists(world: World, name: str = PREVIEW) -> bool:
    return world.find(NAMESPACES, name) is not None


async def test_it_is_announced_a_day_before_and_then_deleted(cluster: World) -> None:
    notes = told(cluster)
    await until(cluster, 21, "11:00")
    assert deletion(cluster) == {"at": "2026-11-22T12:00:00Z", "summary": "deleted at 2026-11-22T12:00:00Z"}
    assert notes == []
    await until(cluster, 21, "12:30")
    (note,) = notes
    assert note.startswith("NamespaceDeletionAnnounced: namespace pr-1 is deleted at 2026-11-22T12:00:00Z")
    assert (deletion(cluster) or {})["announced"] is True
    await until(cluster, 22, "11:50")
    assert exists(cluster)
    await until(cluster, 22, "12:30")
    assert not exists(cluster)
    assert len(notes) == 1


async def test_without_the_right_it_says_when_the_namespace_would_be_deleted(world: World) -> None:
    await populate(world)
    await until(world, 20, "14:00")
    found = deletion(world) or {}
    assert found["summary"] == "would be deleted at 2026-11-22T12:00:00Z"
    assert "environments.deleteNamespaces" in found["blocked"]
    await until(world, 23, "12:00")
    assert exists(world)
    assert deletion(world) == found


async def test_only_a_namespace_whose_label_allows_it_is_deleted(cluster: World) -> None:
    notes = told(cluster)
    await populate(cluster, "plain", allowed="")
    await populate(cluster, "not-so", allowed="false")
    await until(cluster, 23, "12:00")
    assert [exists(cluster, name) for name in (PREVIEW, "plain", "not-so")] == [False, True, True]
    assert blocked(cluster, "plain") == 'the namespace has no label keda-py.dev/allow-deletion: "true"'
    assert len(notes) == 1
    await cluster.patch(NAMESPACES, {"metadata": {"labels": {"keda-py.dev/allow-deletion": "true"}}}, "plain")
    await until(cluster, 24, "10:00")
    assert exists(cluster, "plain")
    await until(cluster, 24, "14:30")
    assert (len(notes), exists(cluster, "plain")) == (2, False)


async def test_a_label_that_is_taken_away_after_the_announcement_keeps_it(cluster: World) -> None:
    notes = told(cluster)
    await until(cluster, 22, "11:30")
    await cluster.patch(NAMESPACES, {"metadata": {"labels": {"keda-py.dev/allow-deletion": None}}}, PREVIEW)
    await until(cluster, 23, "12:00")
    assert exists(cluster)
    assert [note.partition(":")[0] for note in notes] == ["NamespaceDeletionAnnounced", "NamespaceDeletionWithdrawn"]


async def test_any_use_begins_the_count_anew(cluster: World) -> None:
    notes = told(cluster)
    await until(cluster, 22, "10:00")
    target = {"kind": "Environment", "name": "dev"}
    await cluster.create(override("look", PREVIEW, state="Awake", target=target, **{"for": "1h"}))
    await until(cluster, 22, "10:30")
    assert deletion(cluster) is None
    assert notes[-1] == "NamespaceDeletionWithdrawn: namespace pr-1 is not deleted: it is used"
    await until(cluster, 24, "10:00")
    assert exists(cluster)
    await until(cluster, 24, "11:30")
    assert not exists(cluster)


async def test_a_new_commit_begins_the_count_anew(cluster: World) -> None:
    await until(cluster, 22, "10:00")
    container = cluster.get(DEPLOYMENTS, "web", PREVIEW)["spec"]["template"]["spec"]["containers"][0]
    change = {"spec": {"template": {"spec": {"containers": [{**container, "image": "web:2"}]}}}}
    await cluster.patch(DEPLOYMENTS, change, "web", PREVIEW)
    await until(cluster, 24, "09:30")
    assert exists(cluster)
    await until(cluster, 24, "11:00")
    assert not exists(cluster)


def claim(**status: Any) -> Obj:
    body = obj("v1", "PersistentVolumeClaim", "data", namespace=PREVIEW)
    return {**body, "spec": {"accessModes": ["ReadWriteOnce"]}, "status": status}


async def bind(world: World) -> None:
    await world.create(claim())
    await world.patch(PERSISTENT_VOLUME_CLAIMS, {"spec": {"volumeName": "pv-1"}}, "data", PREVIEW)


async def test_a_bound_volume_keeps_the_namespace_unless_the_environment_says_otherwise(cluster: World) -> None:
    await bind(cluster)
    notes = told(cluster)
    await until(cluster, 23, "12:00")
    assert (exists(cluster), notes) == (True, [])
    text = "PersistentVolumeClaim data is bound; spec.deleteBoundVolumes: true deletes its data, too"
    assert blocked(cluster) == text
    await cluster.patch(ENVIRONMENTS, {"spec": {"deleteBoundVolumes": True}}, "dev", PREVIEW)
    await until(cluster, 24, "11:30")
    assert (exists(cluster), len(notes)) == (True, 1)
    await until(cluster, 24, "13:30")
    assert not exists(cluster)


async def test_a_volume_that_is_bound_in_the_last_hour_keeps_it(cluster: World) -> None:
    await until(cluster, 22, "11:45")
    await bind(cluster)
    await until(cluster, 22, "14:00")
    assert exists(cluster)
    assert blocked(cluster).startswith("PersistentVolumeClaim data is bound")


async def test_a_pod_that_runs_keeps_the_namespace(cluster: World) -> None:
    left_alone = deployment("kept", 1)
    left_alone["metadata"]["annotations"] = {"keda-py.dev/exclude": "true"}
    await cluster.create(left_alone, namespace=PREVIEW)
    await until(cluster, 23, "12:00")
    assert exists(cluster)
    assert blocked(cluster).startswith("pod kept-")


async def test_another_environment_keeps_the_namespace(cluster: World) -> None:
    await cluster.create(environment("second", PREVIEW, calendar=ALWAYS, selector={"matchLabels": {"a": "b"}}))
    await until(cluster, 23, "12:00")
    assert exists(cluster)
    assert blocked(cluster) == "Environment second is in the namespace, too"


async def test_many_environments_of_one_namespace_take_no_room_beside_the_counts_of_others(cluster: World) -> None:
    await populate(cluster, "crowded")
    for number in range(5):
        await cluster.create(environment(f"e{number}", "crowded", calendar=ALWAYS, idleAfter="2h", deleteAfter="48h"))
    await until(cluster, 21, "12:30")
    stored = cluster.get(CONFIG_MAPS, "keda-py-idle-namespaces", "keda")["data"]
    assert list(stored) == [cluster.get(ENVIRONMENTS, "dev", PREVIEW)["metadata"]["uid"]]
    assert "Environment e" in blocked(cluster, "crowded")


def stored_counts(world: World) -> set[str]:
    """The uids of Environments whose counts are stored."""
    return set(world.get(CONFIG_MAPS, COUNTS, "keda")["data"])


def uid_of(world: World, name: str = PREVIEW) -> str:
    uid: str = world.get(ENVIRONMENTS, "dev", name)["metadata"]["uid"]
    return uid


async def test_environments_whose_finalizers_are_taken_away_leave_no_counts_behind(cluster: World) -> None:
    """All counts are in one object of the operator: a tenant could fill it, and no namespace would be deleted then."""
    await populate(cluster, "churning")
    for _ in range(3):
        await cluster.seconds(60)
        await cluster.patch(ENVIRONMENTS, {"metadata": {"finalizers": None}}, "dev", "churning")
        await cluster.delete(ENVIRONMENTS, "dev", "churning")
        await cluster.seconds(1)
        wanted = {"calendar": ALWAYS, "idleAfter": "2h", "deleteAfter": "48h"}
        await cluster.create(environment("dev", "churning", **wanted))
    await until(cluster, 21, "16:00")
    assert stored_counts(cluster) == {uid_of(cluster), uid_of(cluster, "churning")}


async def test_a_count_of_an_environment_that_went_while_no_operator_ran_is_dropped_however_often_others_are_stored(
    cluster: World,
) -> None:
    for name in ("gone", "one", "two"):
        await populate(cluster, name)
    await until(cluster, 21, "13:30")
    assert uid_of(cluster, "gone") in stored_counts(cluster)
    await cluster.operator.stop()
    await cluster.patch(ENVIRONMENTS, {"metadata": {"finalizers": None}}, "dev", "gone")
    await cluster.delete(ENVIRONMENTS, "dev", "gone")
    await cluster.operator.start()
    for number in range(6):  # each use of a namespace whose count is stored stores the counts of all
        await cluster.seconds(1800)
        await cluster.create(override(f"use-{number}", ("one", "two")[number % 2], state="Awake", **{"for": "5m"}))
        await cluster.seconds(60)
    assert stored_counts(cluster) <= {uid_of(cluster, name) for name in (PREVIEW, "one", "two")}


@pytest.mark.parametrize("name", ["default", "kube-public", "keda"])
async def test_a_namespace_of_the_cluster_or_of_the_operator_is_never_deleted(cluster: World, name: str) -> None:
    labels = {"metadata": {"labels": {"keda-py.dev/allow-deletion": "true"}}}
    if cluster.find(NAMESPACES, name) is None:
        await cluster.create(a_namespace(name))
    await cluster.patch(NAMESPACES, labels, name)
    await cluster.create(environment("dev", name, calendar=ALWAYS, idleAfter="2h", deleteAfter="48h"))
    await until(cluster, 23, "12:00")
    assert exists(cluster, name)
    assert "is never deleted" in blocked(cluster, name)


FORGED: list[Obj] = [
    {"idle": {"lastActivity": "2026-01-01T00:00:00Z", "inUse": False, "revisions": ""}},
    {"phase": "Asleep", "phaseSince": "2026-01-01T00:00:00Z"},
    {"deletion": {"at": "2026-01-01T00:00:00Z", "announced": True, "summary": "deleted"}},
    {"idle": None, "deletion": None},
]


@pytest.mark.parametrize("forged", FORGED, ids=["last use", "phase", "announcement", "nothing"])
@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
async def test_a_status_that_a_tenant_writes_deletes_nothing_earlier(
    cluster: World, forged: Obj, restarted: bool
) -> None:
    notes = told(cluster)
    await until(cluster, 21, "09:00")
    if restarted:
        await cluster.operator.stop()
    path = ENVIRONMENTS.named(PREVIEW, "dev", "status")
    await cluster.client.patch(path, {"status": forged})
    if restarted:
        await cluster.operator.start()
    await until(cluster, 21, "11:30")
    assert notes == []
    await until(cluster, 22, "11:30")
    assert exists(cluster)


async def test_a_clock_that_jumps_a_year_ahead_deletes_nothing_earlier(cluster: World) -> None:
    notes = told(cluster)
    cluster.clock.step(timedelta(days=365))  # type: ignore[attr-defined]
    await cluster.seconds(3600 * 20)
    await cluster.operator.stop()
    await cluster.operator.start()
    assert (exists(cluster), notes) == (True, [])
    await cluster.seconds(3600 * 26)
    assert exists(cluster)
    await cluster.seconds(3600 * 30)
    assert (exists(cluster), len(notes)) == (False, 1)


async def test_time_that_no_operator_has_watched_is_not_counted_and_the_deletion_is_announced_again(
    cluster: World,
) -> None:
    notes = told(cluster)
    await until(cluster, 21, "13:00")
    assert len(notes) == 1
    await cluster.operator.stop()
    await until(cluster, 24, "13:00")
    await cluster.operator.start()
    await until(cluster, 25, "09:00")
    assert (exists(cluster), len(notes)) == (True, 2)
    await until(cluster, 25, "15:00")
    assert not exists(cluster)


async def test_a_restart_goes_on_counting(cluster: World) -> None:
    for hour in ("18:00", "23:00"):
        await until(cluster, 20, hour)
        await cluster.operator.stop()
        await cluster.operator.start()
    await until(cluster, 22, "15:00")
    assert not exists(cluster)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '{"span":"2026-11-20T12:00:00Z","idleSeconds":-5,"seen":"2026-11-20T13:00:00Z"}',
        '{"span":"2026-11-20T12:00:00Z","idleSeconds":1e300,"seen":"2026-11-20T13:00:00Z"}',
        '{"span":"2026-11-20T12:00:00Z","idleSeconds":9,"announcedAt":90,"seen":"2026-11-20T13:00:00Z"}',
        "[]",
        "null",
    ],
)
async def test_a_stored_count_that_cannot_be_read_begins_anew(cluster: World, text: str) -> None:
    await until(cluster, 21, "13:30")
    await cluster.operator.stop()
    uid = cluster.get(ENVIRONMENTS, "dev", PREVIEW)["metadata"]["uid"]
    assert cluster.get(CONFIG_MAPS, COUNTS, "keda")["data"].keys() == {uid}
    await cluster.patch(CONFIG_MAPS, {"data": {uid: text}}, COUNTS, "keda")
    await cluster.operator.start()
    await until(cluster, 23, "13:00")
    assert exists(cluster)
    await until(cluster, 23, "14:30")
    assert not exists(cluster)


async def test_a_namespace_of_the_same_name_begins_anew(cluster: World) -> None:
    await until(cluster, 22, "11:00")
    await cluster.delete(NAMESPACES, PREVIEW)
    await cluster.seconds(60)
    await populate(cluster)
    await until(cluster, 24, "10:50")
    assert exists(cluster)
    await until(cluster, 24, "12:00")
    assert not exists(cluster)


async def test_its_wake_does_not_depend_on_the_counts(cluster: World) -> None:
    await cluster.delete(NAMESPACES, "keda")
    await until(cluster, 20, "15:00")
    assert cluster.replicas("web", namespace=PREVIEW) == 0
    assert blocked(cluster).startswith("the time without use is not known") or deletion(cluster)
    target = {"kind": "Environment", "name": "dev"}
    await cluster.create(override("look", PREVIEW, state="Awake", target=target, **{"for": "1h"}))
    await cluster.seconds(60)
    assert cluster.replicas("web", namespace=PREVIEW) == 2


class Watched:
    """What an onlooker has seen of a deletion: the instants that announcements named, and when the namespace went."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.named: list[tuple[datetime, datetime]] = []
        """(when it was said, which instant it named) of each announcement."""
        self.gone: datetime | None = None
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        now = self._world.clock.now()
        if event.resource.plural == "events" and event.object["reason"] == "NamespaceDeletionAnnounced":
            note: str = event.object.get("message") or event.object["note"]
            self.named.append((now, datetime.fromisoformat(note.split(" is deleted at ")[1].split(",")[0])))
        ends = event.type == "DELETED" or "deletionTimestamp" in event.object["metadata"]
        if event.resource.plural == "namespaces" and event.name == PREVIEW and ends and self.gone is None:
            self.gone = now

    def assert_kept_word(self) -> None:
        """The namespace went, a day after an announcement at least, and not before the instant that was named last."""
        assert self.gone is not None
        before = [one for one in self.named if one[0] < self.gone]
        assert before, "it was deleted unannounced"
        assert before[0][0] <= self.gone - timedelta(days=1)
        assert before[-1][1] <= self.gone


class Killing:
    """Two namespaces, of which one may be deleted, and an onlooker for each operator that is killed."""

    def __init__(self, kills: Kills) -> None:
        self.kills = kills
        kills.flags, kills.part = ON, 2
        self.watched: Watched

    async def begin(self, world: World) -> None:
        self.watched = Watched(world)
        await world.seconds(17)  # so that no step falls on a whole minute by itself
        await populate(world)
        await populate(world, "plain", allowed="")

    async def end(self, world: World) -> None:
        """The one is deleted as announced; the other one is there, and has its replicas back."""
        await until(world, 23, "14:00")
        self.watched.assert_kept_word()
        assert exists(world, "plain")
        target = {"kind": "Environment", "name": "dev"}
        await world.create(override("look", "plain", state="Awake", target=target, **{"for": "1h"}))
        await world.seconds(120)
        assert world.replicas("web", namespace="plain") == 2


@pytest.mark.parametrize(("day", "at_least"), [(21, 2), (22, 1)], ids=["announced", "deleted"])
async def test_killed_at_any_write_while_it_is_announced_or_deleted_it_deletes_nothing_before_its_time(
    kills: Kills, day: int, at_least: int
) -> None:
    killing = Killing(kills)

    async def before(world: World) -> None:
        await killing.begin(world)
        await until(world, day, "11:59")

    async def during(world: World) -> None:
        await until(world, day, "12:30")

    assert await kills(before, during, killing.end) > at_least


async def test_killed_at_any_write_while_a_deletion_is_withdrawn_it_counts_from_the_end_of_the_use(
    kills: Kills,
) -> None:
    killing = Killing(kills)

    async def before(world: World) -> None:
        await killing.begin(world)
        await until(world, 21, "13:00")

    async def during(world: World) -> None:
        target = {"kind": "Environment", "name": "dev"}
        await world.create(override("look", PREVIEW, state="Awake", target=target, **{"for": "1h"}))
        await until(world, 21, "13:30")

    async def after(world: World) -> None:
        await until(world, 21, "13:45")
        assert world.replicas("web", namespace=PREVIEW) == 2
        await until(world, 23, "13:50")
        assert exists(world)
        await until(world, 23, "16:00")
        killing.watched.assert_kept_word()

    assert await kills(before, during, after) > 2
