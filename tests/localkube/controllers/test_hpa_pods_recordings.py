"""The HPA controller of the embedded cluster decides over pods in every state as a real one did.

All cases of tests/golden/hpa_pods.json are in one cluster, each in a namespace of its own; tests/core judges the pure
arithmetic by them.
"""

from datetime import datetime, timedelta
from typing import Any

import orjson

from keda_py.localkube.store.custom_resources import CustomResources
from tests.builders import a_namespace, box_definition, container, metadata, obj, usage
from tests.localkube.controllers.bare_cluster import BareCluster, Obj
from tests.places import GOLDEN

RECORDING: dict[str, Any] = orjson.loads(GOLDEN.joinpath("hpa_pods.json").read_bytes())
CASES: list[Obj] = RECORDING["cases"]
GROUP = "example.com"
LABELS = {"app": "box"}


def pod(name: str, namespace: str, case: Obj) -> Obj:
    told = usage(cpu="none") if case.get("noMetrics") else usage(cpu=case["cpu"], memory=case["memory"])
    body = container("c", cpu="100m", memory="100Mi")
    missing = case.get("noRequest")
    requests = body["resources"]["requests"]
    body["resources"] = {"requests": {each: requests[each] for each in requests if missing not in (True, each)}}
    held = {"finalizers": ["example.com/held"]} if case.get("deleting") else {}
    kept = usage(startup_seconds="100000") | told
    named = metadata(name, namespace, labels=LABELS, annotations=kept, **held)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": {"containers": [body]}}


def status(case: Obj, made: datetime) -> Obj:
    if case.get("pending"):
        return {"phase": "Pending"}

    def ago(seconds: float) -> str:
        return f"{made - timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"

    ready = {"type": "Ready", "status": str(case["ready"]), "lastTransitionTime": ago(case["changedAgo"])}
    return {"phase": case.get("phase", "Running"), "startTime": ago(case["startedAgo"]), "conditions": [ready]}


def box_and_hpa(namespace: str, case: Obj) -> tuple[Obj, Obj]:
    count = case["replicas"]
    reference = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "name": "box"}
    spec = {"scaleTargetRef": reference, "minReplicas": case["min"], "maxReplicas": case["max"]}
    spec |= {"behavior": RECORDING["behavior"], "metrics": case["metrics"]}
    size = {"spec": {"size": count}, "status": {"size": count, "selector": "app=box"}}
    written = {"status": {"desiredReplicas": 0, "currentMetrics": None}}
    return (
        obj(f"{GROUP}/v1", "Box", "box", namespace, **size),
        obj("autoscaling/v2", "HorizontalPodAutoscaler", "box", namespace, spec=spec, **written),
    )


def set_status(cluster: BareCluster, live: Obj, wanted: Obj) -> None:
    resource = cluster.store.resources.get(live["apiVersion"], live["kind"])
    place = live["metadata"]["namespace"], live["metadata"]["name"]
    newest = cluster.store.get(resource, *place)
    cluster.store.update(resource, {**newest, "status": wanted}, subresource="status")


async def decide_all(cluster: BareCluster) -> list[Obj]:
    """Return the statuses of the HPAs after their first sync, 20 seconds after the pods were created."""
    CustomResources(cluster.store)
    cluster.create(box_definition(GROUP))
    await cluster.seconds(0)
    pods = []
    for number, case in enumerate(CASES):
        cluster.create(a_namespace(f"c{number}"))
        pods += [
            (cluster.create(pod(f"c{number}-{at}", f"c{number}", one)), one) for at, one in enumerate(case["pods"])
        ]
    await cluster.seconds(1)
    made = cluster.clock.now()
    for live, one in pods:
        set_status(cluster, live, status(one, made))
        if one.get("deleting"):
            cluster.delete(live)
    await cluster.seconds(5)
    for number, case in enumerate(CASES):
        box, hpa = box_and_hpa(f"c{number}", case)
        set_status(cluster, cluster.create(box), box["status"])
        cluster.create(hpa)
    await cluster.seconds(15)
    found = (cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "box", f"c{at}") for at in range(len(CASES)))
    return [hpa["status"] for hpa in found]


def listed(conditions: dict[str, list[str]]) -> Obj:
    """Remove the index of the pod that lacks a request: the real controller lists pods in any order."""
    return {
        kind: (told, reason, text.rpartition("-")[0] if "missing request" in text else text)
        for kind, (told, reason, text) in conditions.items()
    }


async def test_every_first_decision_is_the_recorded_one(cluster: BareCluster) -> None:
    for case, found in zip(CASES, await decide_all(cluster), strict=True):
        told = {row["type"]: [row["status"], row["reason"], row["message"]] for row in found["conditions"]}
        decided = found["desiredReplicas"], listed(told), found["currentMetrics"]
        assert decided == (case["desired"], listed(case["conditions"]), case["currentMetrics"]), case["note"]
