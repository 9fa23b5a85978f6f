"""The rules of metadata and versions that every writer obeys."""

from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.store.lifecycle import DeleteOptions
from keda_py.localkube.store.store import HISTORY, Store
from keda_py.localkube.store.subscriptions import Event
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError


@pytest.fixture
def store() -> Store:
    return Store(FakeClock(datetime(2026, 1, 1, tzinfo=UTC)), builtin_registry())


@pytest.fixture
def deployments(store: Store) -> Resource:
    return store.resources.get("apps/v1", "Deployment")


@pytest.fixture
def configmaps(store: Store) -> Resource:
    return store.resources.get("v1", "ConfigMap")


def named(name: str = "web", **metadata: object) -> Obj:
    return {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": {"replicas": 1}}


def with_metadata(obj: Obj, **metadata: object) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def test_a_new_object_gets_its_identity(store: Store, deployments: Resource) -> None:
    metadata = store.create(deployments, named(uid="mine", generation=9))["metadata"]
    assert metadata["uid"] != "mine"
    assert (metadata["generation"], metadata["resourceVersion"]) == (1, "1")
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"


def test_a_name_is_taken_once(store: Store, deployments: Resource) -> None:
    store.create(deployments, named())
    with pytest.raises(StatusError, match=r'deployments.apps "web" already exists'):
        store.create(deployments, named())


def test_a_generated_name_keeps_its_prefix(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, {"metadata": {"generateName": "web-", "namespace": "default"}})
    assert created["metadata"]["name"].startswith("web-")
    assert len(created["metadata"]["name"]) == len("web-") + 5


def test_a_dry_run_stores_nothing(store: Store, deployments: Resource) -> None:
    store.create(deployments, named(), dry_run=True)
    assert store.list(deployments) == []
    assert store.revision == 0


def test_a_write_that_changes_nothing_keeps_its_version(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    assert store.update(deployments, {**created}) is created
    assert store.revision == 1


def test_the_generation_counts_specs_and_not_labels(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    labelled = store.update(deployments, with_metadata(created, labels={"a": "b"}))
    assert labelled["metadata"]["generation"] == 1
    scaled = store.update(deployments, {**labelled, "spec": {"replicas": 2}})
    assert scaled["metadata"]["generation"] == 2


def test_a_deployments_annotations_count_too(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    noted = store.update(deployments, with_metadata(created, annotations={"a": "b"}))
    assert noted["metadata"]["generation"] == 2


def test_a_configmap_has_no_generation(store: Store, configmaps: Resource) -> None:
    assert "generation" not in store.create(configmaps, named())["metadata"]


def test_a_stale_write_is_refused(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    store.update(deployments, {**created, "spec": {"replicas": 2}})
    with pytest.raises(StatusError, match="the object has been modified") as refused:
        store.update(deployments, {**created, "spec": {"replicas": 3}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_a_write_to_an_earlier_object_of_the_name_is_refused(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    with pytest.raises(StatusError, match="UID in precondition: gone"):
        store.update(deployments, with_metadata(created, uid="gone"))


def test_a_status_write_leaves_the_spec_alone(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    changed = {**created, "spec": {"replicas": 7}, "status": {"replicas": 1}}
    stored = store.update(deployments, changed, subresource="status")
    assert stored["spec"] == {"replicas": 1}
    assert stored["status"] == {"replicas": 1}
    assert stored["metadata"]["generation"] == 1


def test_a_spec_write_leaves_the_status_alone(store: Store, deployments: Resource) -> None:
    created = store.create(deployments, named())
    store.update(deployments, {**created, "status": {"replicas": 1}}, subresource="status")
    stored = store.update(deployments, {**named(), "spec": {"replicas": 2}, "status": {"replicas": 9}})
    assert stored["status"] == {"replicas": 1}


def test_finalizers_hold_a_deleted_object_until_the_last_is_gone(store: Store, deployments: Resource) -> None:
    store.create(deployments, named(finalizers=["a", "b"]))
    deleted = store.delete(deployments, "default", "web")
    assert deleted["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert deleted["metadata"]["generation"] == 2
    store.update(deployments, with_metadata(deleted, finalizers=["b"]))
    assert store.find(deployments, "default", "web") is not None
    held = store.get(deployments, "default", "web")
    store.update(deployments, with_metadata(held, finalizers=[]))
    assert store.find(deployments, "default", "web") is None


def test_a_deleted_object_takes_no_new_finalizer(store: Store, deployments: Resource) -> None:
    store.create(deployments, named(finalizers=["a"]))
    deleted = store.delete(deployments, "default", "web")
    with pytest.raises(StatusError, match="no new finalizers can be added if the object is being deleted"):
        store.update(deployments, with_metadata(deleted, finalizers=["a", "b"]))


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_a_deletion_policy_is_left_to_the_garbage_collector(
    store: Store, deployments: Resource, policy: str, finalizer: str
) -> None:
    store.create(deployments, named())
    deleted = store.delete(deployments, "default", "web", propagation=policy)
    assert deleted["metadata"]["finalizers"] == [finalizer]


def test_a_second_deletion_changes_nothing(store: Store, deployments: Resource) -> None:
    store.create(deployments, named(finalizers=["a"]))
    deleted = store.delete(deployments, "default", "web")
    assert store.delete(deployments, "default", "web") is deleted


def test_a_deletion_of_another_object_of_the_name_is_refused(store: Store, deployments: Resource) -> None:
    store.create(deployments, named())
    with pytest.raises(StatusError, match="the UID in the precondition"):
        store.delete(deployments, "default", "web", DeleteOptions(uid="gone"))
    with pytest.raises(StatusError, match="the ResourceVersion in the precondition"):
        store.delete(deployments, "default", "web", DeleteOptions(resource_version="99"))


def test_a_namespace_is_deleted_when_it_is_finalized(store: Store) -> None:
    namespaces = store.resources.get("v1", "Namespace")
    store.create(namespaces, {"metadata": {"name": "rec"}, "spec": {"finalizers": ["kubernetes"]}})
    deleted = store.delete(namespaces, "", "rec")
    assert deleted["status"]["phase"] == "Terminating"
    store.update(namespaces, {**deleted, "spec": {"finalizers": []}}, subresource="finalize")
    assert store.find(namespaces, "", "rec") is None


def test_a_list_can_be_read_at_an_earlier_version(store: Store, configmaps: Resource) -> None:
    for name in ("a", "b", "c"):
        store.create(configmaps, named(name))
    then = store.revision
    store.delete(configmaps, "default", "a")
    store.update(configmaps, {**store.get(configmaps, "default", "b"), "data": {"x": "y"}})
    store.create(configmaps, named("d"))
    snapshot = store.list_at(configmaps, "default", then)
    assert [obj["metadata"]["name"] for obj in snapshot.objects] == ["a", "b", "c"]
    assert "data" not in snapshot.objects[1]


def test_the_pages_of_a_list_come_from_one_snapshot(store: Store, configmaps: Resource) -> None:
    store.create(configmaps, named("a"))
    then = store.revision
    first = store.list_at(configmaps, "default", then)
    store.create(configmaps, named("b"))
    assert store.list_at(configmaps, "default", then) is first
    assert len(store.list_at(configmaps, "default", store.revision).objects) == 2


def test_a_restored_store_shows_no_list_of_the_time_after_the_backup(store: Store, configmaps: Resource) -> None:
    backup = store.backup()
    store.create(configmaps, named("a"))
    store.list_at(configmaps, "default", store.revision)
    store.restore(backup)
    store.create(configmaps, named("b"))
    (only,) = store.list_at(configmaps, "default", store.revision).objects
    assert only["metadata"]["name"] == "b"


def test_a_list_at_a_version_before_the_history_is_gone(store: Store, configmaps: Resource) -> None:
    store.create(configmaps, named("a"))
    store.forget(store.revision)
    with pytest.raises(StatusError, match="too old") as refused:
        store.list_at(configmaps, "default", 0)
    assert refused.value.code == 410


async def test_a_watch_from_before_the_history_began_is_gone(store: Store, configmaps: Resource) -> None:
    for at in range(HISTORY + 2):
        store.create(configmaps, named(f"c{at}"))
    with pytest.raises(StatusError, match=r"too old resource version: 1 \(2\)"):
        store.watch(configmaps, since=1)
    await store.watch(configmaps, since=2).aclose()


def test_listeners_see_events_in_order_even_when_one_of_them_writes(store: Store, configmaps: Resource) -> None:
    seen: list[tuple[str, str]] = []

    def follow_up(event: Event) -> None:
        if event.name == "first":
            store.create(configmaps, named("second"))

    store.listen(follow_up)
    store.listen(lambda event: seen.append((event.type, event.name)))
    store.create(configmaps, named("first"))
    assert seen == [("ADDED", "first"), ("ADDED", "second")]
