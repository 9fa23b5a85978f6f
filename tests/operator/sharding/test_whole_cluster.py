"""What is done once for the cluster, beside several active replicas: Environments, annotations, CloudEvents.

The leader decides about them; what lies over a ScaledObject each replica knows for its own. Real time, short Leases.
"""

from collections import Counter

from keda_py.kube.resources import CLOUD_EVENT_SOURCES, DEPLOYMENTS, ENVIRONMENTS, OVERRIDES
from tests.builders import deployment, environment, override
from tests.operator.cloud_events.receiver import Receiver
from tests.operator.cloud_events.test_sources import source
from tests.operator.downscaler.builders import ORIGINAL, mark_namespace, marked
from tests.operator.replicas import Replica, Replicas
from tests.operator.sharding.crew import (
    NAMES,
    all_scaled,
    apps,
    changes,
    leader,
    listen,
    owned,
    shared_out,
    three,
    times,
)
from tests.waiting import eventually

ALWAYS = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
ASLEEP = {"phase": "Asleep", "ready": "0/13"}
HOUR = {"for": "1h"}
BUDGET = 3


def told(replicas: Replicas) -> dict[str, str]:
    status = (replicas.find(ENVIRONMENTS, "dev") or {}).get("status") or {}
    return {name: status.get(name, "") for name in ASLEEP}


def asleep(replicas: Replicas) -> bool:
    return all_scaled(replicas, 0) and replicas.replicas("plain") == 0 and told(replicas) == ASLEEP


def unstored(replicas: Replicas) -> list[str]:
    """Members that are put to sleep from now on before their Environment remembers them."""
    found: list[str] = []

    def note(name: str, count: int) -> None:
        stored = ((replicas.find(ENVIRONMENTS, "dev") or {}).get("status") or {}).get("members", {})
        if count == 0 and not {f"ScaledObject/{name}", f"Deployment/{name}"} & stored.keys():
            found.append(name)

    listen(replicas, note)
    return found


def take_leader(crew: list[Replica]) -> Replica:
    found = leader(crew)
    assert found is not None
    crew.remove(found)
    return found


async def test_an_environment_rules_objects_of_every_replica_and_goes_on_whoever_leads(
    replicas: Replicas,
) -> None:
    crew = await three(replicas)
    await replicas.create(deployment("plain", 2), environment(calendar=ALWAYS))
    await apps(replicas)
    replicas.jobs(4)
    await eventually(lambda: all_scaled(replicas, 1))
    seen, early = changes(replicas), unstored(replicas)
    await replicas.kill(take_leader(crew))  # those that are left see the Override at once, and no leader has stored it
    await replicas.create(override("night", state="Asleep", target={"kind": "Environment", "name": "dev"}, **HOUR))
    await eventually(lambda: asleep(replicas))
    assert early == []
    assert all(seen[name] == [0] for name in (*NAMES, "plain"))  # work waits all the while, and each owner knows
    await eventually(lambda: shared_out(crew) and leader(crew) is not None)
    await replicas.stop(take_leader(crew))
    await eventually(lambda: shared_out(crew) and leader(crew) is not None)
    exact = {"replicas": 3, "target": {"kind": "ScaledObject", "name": NAMES[0]}, **HOUR}
    await replicas.create(override("three", **exact))
    await eventually(lambda: replicas.replicas(NAMES[0]) == 3)
    assert all(seen[name] == [0] for name in (*NAMES[1:], "plain"))  # none woke by the hand-over
    for name in ("night", "three"):
        await replicas.client.delete(OVERRIDES.named("default", name))
    await eventually(lambda: all(replicas.replicas(name) for name in NAMES) and replicas.replicas("plain") == 2)


async def test_annotations_and_the_wake_budget_hold_for_all_and_each_event_is_sent_once(replicas: Replicas) -> None:
    crew = await three(replicas, downscaler_annotations="true", activations_per_second=str(BUDGET))
    receiver = Receiver(replicas.server)
    await replicas.client.create(CLOUD_EVENT_SOURCES, source(receiver.url))
    await replicas.create(deployment("plain", 2))
    await apps(replicas)
    assert all(owned(replica) for replica in crew)
    wakes = times(replicas)
    replicas.jobs(4)
    await eventually(lambda: all_scaled(replicas, 1))
    for count, seconds in enumerate(wakes, 1):
        assert count <= BUDGET + BUDGET * seconds  # saved up, and each second's
    for name in (*NAMES, "plain"):
        await replicas.patch(DEPLOYMENTS, marked({"metadata": {}}, grace_period="1"), name)
    seen = changes(replicas)
    await mark_namespace(replicas, force_downtime="true")
    await eventually(lambda: all_scaled(replicas, 0) and replicas.replicas("plain") == 0)
    assert all(seen[name] == [0] for name in (*NAMES, "plain"))
    assert replicas.get(DEPLOYMENTS, "plain")["metadata"]["annotations"][ORIGINAL] == "2"
    subjects = Counter(headers["ce-subject"] for headers, _ in receiver.got if headers["ce-type"].endswith("ready.v1"))
    assert sorted(subjects.values()) == [1] * len(NAMES)
    live = replicas.get(CLOUD_EVENT_SOURCES, "sink")
    assert [one["status"] for one in live["status"]["conditions"]] == ["True"]
