"""The rights that `operator.shards` adds: enough for several active replicas, and no Lease but theirs."""

from pathlib import Path
from typing import Any

from keda_py.kube.resources import LEASES
from tests.builders import deployment, metrics_api, scaled_object
from tests.charts import exercise
from tests.charts.installed import Installed, installed
from tests.charts.rendering import Obj, render
from tests.charts.rights import given, noted
from tests.http_server import http_server

ON: dict[str, Any] = {"operator": {"replicaCount": 2, "shards": 2}}
NAMES = [f"app-{number}" for number in range(4)]


async def agree(here: Installed) -> None:
    """Both replicas hold a slot, and know of each other."""

    def is_shared(lease: Obj) -> bool:
        return (lease["metadata"].get("annotations") or {}).get("keda-py.dev/view") == "0,1"

    for number in range(2):
        name = f"operator.keda.sh-shard-{number}"
        await here.until_listed(
            LEASES, "keda", lambda lease, name=name: lease["metadata"]["name"] == name and is_shared(lease)
        )


async def test_the_rights_are_enough_and_each_about_leases_is_made_use_of(tmp_path: Path) -> None:
    with noted() as used:
        async with http_server() as server, installed(tmp_path, **ON) as here, here.second():
            await agree(here)
            server.answers["/busy"] = '{"value": 1}'
            for name in NAMES:
                await here.scene.create(deployment(name), scaled_object(metrics_api(f"{server.url}/busy"), name=name))
            for name in NAMES:
                await here.scene.replicas(1, name)
            await exercise.sleep_and_wake(here)
            assert here.refused == []
    assert {right for right in given(render(**ON)) - used if right.resource == "leases"} == set()


def test_only_the_leases_of_slots_are_added() -> None:
    def leases(**values: Any) -> list[Obj]:
        rules = [rule for one in render(**values) if one["kind"] == "Role" for rule in one["rules"]]
        return [rule for rule in rules if "leases" in rule["resources"]]

    (added,) = [rule for rule in leases(**ON) if rule not in leases()]
    assert added["verbs"] == ["get", "update"]
    assert added["resourceNames"] == ["operator.keda.sh-shard-0", "operator.keda.sh-shard-1"]
