"""What the operator tells its webhook process of an object's neighbours: only what a check reads, and of much not all."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import orjson

from keda_py.clock import FakeClock
from keda_py.kube.informers.informer_spec import Pool
from keda_py.operator.admission.related_environments import MOST_JOBS, RelatedEnvironments
from keda_py.operator.admission.related_objects import MOST_CONTAINERS, MOST_TOLD, RelatedObjects
from keda_py.operator.cluster.caches import keep_hpa

Obj = dict[str, Any]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUESTION = {
    "namespace": "shop",
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "name": "web",
    "hpa": "keda-hpa-so",
    "containers": True,
}


class Everything:
    """An informer whose every question has the same answer."""

    synced = True

    def __init__(self, *found: Obj) -> None:
        self._found = list(found)

    def by_index(self, index: str, value: str) -> list[Obj]:
        return list(self._found)

    def objects(self, namespace: str) -> list[Obj]:
        return list(self._found)

    def get(self, namespace: str, name: str) -> Obj | None:
        return self._found[0] if self._found else None


class Full:
    """Caches in which a tenant has put as much as it could."""

    def __init__(self) -> None:
        waste = {"x" * 1000: "y" * 100_000}
        limits = [{"type": "Container", "default": {"cpu": "1" * 100_000, "memory": "1Gi", **waste}}] * 1000
        target = {"scaleTargetRef": {"name": "web"}, "triggers": [waste] * 1000}
        containers = [{"name": "c" * 1000, "resources": {"requests": {"cpu": "100m", **waste}}, **waste}] * 10_000
        meta = {"name": "other", "annotations": waste, "ownerReferences": [waste] * 1000}
        self.scaled_objects = Everything(*[{"metadata": meta, "spec": target}] * 1000)
        stored = {**meta, "ownerReferences": [waste] * 10}  # kept as JSON: a megabyte, the most that etcd stores
        hpa = keep_hpa({"metadata": stored, "spec": {"scaleTargetRef": {"name": "web"}}}, Pool())
        self.hpas = Everything(*[hpa] * 1000)
        self.limit_ranges = Everything(*[{"metadata": meta, "spec": {"limits": limits}}] * 1000)
        pod = {"template": {"spec": {"containers": containers}}}
        self.workloads = {"deployments": Everything({"metadata": meta, "spec": pod})}


async def test_however_much_there_is_the_answer_is_short() -> None:
    answer = await RelatedObjects(None, Full(), Everything(), lambda _: ()).around(QUESTION)
    assert len(answer["rivals"]) == 2 * MOST_TOLD
    assert (len(answer["hpas"]), len(answer["limitRanges"])) == (MOST_TOLD, MOST_TOLD)
    assert len(answer["containers"]) == MOST_CONTAINERS
    assert len(orjson.dumps(answer)) < 500_000


async def test_a_rival_is_told_by_its_target_and_the_name_of_its_hpa() -> None:
    answer = await RelatedObjects(None, Full(), Everything(), lambda _: ()).around(QUESTION)
    rival = {"name": "other", "apiVersion": "", "kind": "", "target": "web", "hpa": "keda-hpa-other"}
    assert answer["rivals"][0] == rival


async def test_what_is_told_around_an_environment_is_short_however_much_there_is() -> None:
    waste = {"x" * 1000: "y" * 100_000}
    job = {
        "metadata": {"name": "report", "labels": {"team": "a" * 100_000, **waste}, "annotations": waste},
        "spec": {"schedule": "0 3 * * *" + " " * 100_000, "jobTemplate": waste, "startingDeadlineSeconds": "soon"},
    }
    calendar = {"metadata": {"name": "office"}, "spec": {"timeZone": "z" * 1_000_000}}
    caches = SimpleNamespace(
        calendars=Everything(*[calendar] * 1000),
        members={"CronJob": Everything(*[job] * 1000)},
        environments=Everything(*[{"metadata": {"name": "dev"}, "status": {"members": waste}}] * 1000),
    )
    related = RelatedEnvironments(SimpleNamespace(clock=FakeClock(NOW)), caches, SimpleNamespace(within=lambda _: ()))
    question = {"environmentOf": "shop", "calendar": {"kind": "", "name": "office"}, "labels": ["team"], "name": "dev"}
    answer = await RelatedObjects(None, Full(), related, lambda _: ()).around(question)
    assert len(answer["jobs"]) == MOST_JOBS
    assert answer["jobs"][0]["metadata"]["labels"].keys() == {"team"}
    assert "startingDeadlineSeconds" not in answer["jobs"][0]["spec"]
    assert answer["calendar"] is None, "a calendar of a megabyte is not sent"
    assert len(orjson.dumps(answer)) < 1_000_000
