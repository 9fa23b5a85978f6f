"""`keda-py advise` without a source: how far the record of the operator itself reaches, and no proposal."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.clock import SystemClock
from tests.advice.traces import advised
from tests.builders import cron, deployment, scaled_object
from tests.worlds.world import open_world


def exported(kind: str, name: str, namespace: str, group: str = "keda.sh", **status: Any) -> dict[str, Any]:
    """An object of ours as `kubectl get -o yaml` gives it."""
    spec = {"scaleTargetRef": {"name": name}, "triggers": []} if kind == "ScaledObject" else {}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def test_without_a_source_it_is_told_how_far_the_operators_own_record_reaches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It never becomes a proposal: the time between two changes may be one without a watch."""
    long_ago = (SystemClock().now() - timedelta(days=28, hours=1)).isoformat()
    change = {"time": long_ago, "reason": "KEDAScaleTargetDeactivated", "replicas": {"before": 1, "after": 0}}
    known, unknown = (
        exported("ScaledObject", "web", "shop", kedaPyHistory=[change]),
        exported("ScaledObject", "api", "dev"),
    )
    requests = {"wakes": 3, "lastRequest": {"at": "2026-11-20T21:00:00Z"}}
    woken = exported("Environment", "nights", "shop", "keda-py.dev", wakeOnRequest=requests)
    path = tmp_path / "exported.yaml"
    path.write_text(yaml.safe_dump_all([known, unknown, woken]))
    dev, environment, shop = advised(capsys, str(path), "-A")["workloads"]
    assert {each["proposal"] for each in (dev, environment, shop)} == {"nothing"}
    assert dev["because"].startswith("the operator has recorded no change of it")
    assert "holds one change of the last 28 d 1 h (4.0 weeks), and a weekly habit needs 21 days" in shop["because"]
    assert "give --prometheus URL" in shop["because"]
    assert "requests woke it 3 times while it slept, the last one at 2026-11-20T21:00:00Z" in environment["because"]
    assert [each["name"] for each in advised(capsys, str(path), "-n", "dev")["workloads"]] == ["api"]
    assert main(["advise", str(path), "-n", "empty"]) == 2
    assert "recorded nothing of use, as there is no ScaledObject" in capsys.readouterr().err


async def test_the_record_of_a_cluster_is_read_with_the_rights_of_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        await world.create(deployment("app", 1), scaled_object(cron()))
        arguments = ["advise", "-n", "default", "--kubeconfig", str(world.kubeconfig), "-o", "json"]
        assert await asyncio.to_thread(main, arguments) == 0
    (found,) = json.loads(capsys.readouterr().out)["workloads"]
    assert (found["kind"], found["proposal"]) == ("ScaledObject", "nothing")
    assert "a weekly habit needs 21 days" in found["because"]
