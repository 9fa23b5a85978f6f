"""Reviews: CPU of one admission review beside n ScaledObjects, by process, and its time; over one connection.

New objects and updates in turn, as an API server sends them; the objects of the cluster are the neighbours that each is
judged beside. A dry run, so that no review waits for a write that never comes.
"""

import ssl
import time
from collections.abc import AsyncGenerator

import httpx
import orjson

from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.admission.paths import SCALED_OBJECT
from tests.bench.lab.figures import Row, cpu_by_process, median, percentile
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand
from tests.builders import cron

REVIEWS, WARM = 2_000, 200
"""So many are measured, after so many that are not: a process that has just begun imports scalers first."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One row."""
    async with build_stand(options) as stand:
        say(f"{options.objects} ScaledObjects until all are Ready")
        await stand.add_deployments(options.objects)
        await stand.add_scaled_objects(options.objects, options.interval)
        await stand.until_ready(options.objects)
        live = await stand.client.list(SCALED_OBJECTS, NAMESPACE)
        bodies = [_review(_typed(one), number) for number, one in enumerate(live)]
        say(f"{REVIEWS} reviews")
        yield {"objects": options.objects, **await _measure(stand, bodies)}


async def _measure(stand: Stand, bodies: list[bytes]) -> Row:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    url = f"https://{LOOPBACK}:{stand.webhook_port}{SCALED_OBJECT.path}"
    seconds = []
    async with httpx.AsyncClient(verify=trust, trust_env=False, headers={"Content-Type": "application/json"}) as client:
        for number in range(WARM + REVIEWS):
            if number == WARM:
                used = cpu_by_process(stand.operator)
            began = time.perf_counter()
            answer = await client.post(url, content=bodies[number % len(bodies)])
            seconds.append(time.perf_counter() - began)
            if not answer.json()["response"]["allowed"]:
                raise RuntimeError(f"a review was denied: {answer.text}")
        after = cpu_by_process(stand.operator)
    spent = {f"{name}_ms": round((after[name] - used[name]) / REVIEWS * 1e3, 2) for name in after}
    tail = seconds[WARM:]
    wall = {"median": median([one * 1e3 for one in tail]), "p99": round(percentile(tail, 0.99) * 1e3, 2)}
    return {"cpu": spent, "review_ms": wall}


def _typed(live: Obj) -> Obj:
    return {"apiVersion": SCALED_OBJECTS.api_version, "kind": SCALED_OBJECTS.kind, **live}


def _review(live: Obj, number: int) -> bytes:
    """An update of a live object, with one trigger more; of each other one, a creation."""
    spec = {**live["spec"], "triggers": [*live["spec"]["triggers"], cron()]}
    old = live if number % 2 else None
    request = {
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "operation": "UPDATE" if old else "CREATE",
        "namespace": NAMESPACE,
        "name": live["metadata"]["name"],
        "userInfo": {"username": "jana"},
        "object": {**live, "spec": spec},
        "oldObject": old,
        "dryRun": True,
    }
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
