"""Up to two hundred manifests with faults go through API server, webhook and operator, and a good one among them works."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from keda_py.clock import SystemClock
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from tests.operator.admission.guarded import Guarded, a_guarded_world, requesting, scheduled
from tests.sweeps import size
from tests.validation.manifests import generated, mutated
from tests.waiting import eventually

COUNT = size(200, 30)


def some_manifests() -> list[dict[str, Any]]:
    """The same ones at each run."""
    found: list[dict[str, Any]] = []
    plain = settings(
        max_examples=COUNT * 2, database=None, derandomize=True, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip

    @given(body=mutated() | generated())
    @plain
    def collect(body: dict[str, Any]) -> None:
        if body.get("kind") == "ScaledObject" and isinstance(body.get("metadata"), dict):
            found.append(body)

    collect()
    return found[:COUNT]


async def test_faulty_manifests_neither_stop_nor_slow_the_operator(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifests = some_manifests()
    assert len(manifests) == COUNT
    async with (
        a_guarded_world(tmp_path) as guarded,
        KubeClient(SystemClock(), str(tmp_path / "kubeconfig")) as client,
    ):
        stored = [await create(client, body, number) for number, body in enumerate(manifests)]
        assert COUNT / 10 <= sum(stored) < COUNT
        await client.create(DEPLOYMENTS, in_default(requesting()))
        await client.create(SCALED_OBJECTS, in_default(scheduled("good")))
        await eventually(lambda: is_ready(guarded), seconds=20)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def create(client: KubeClient, body: dict[str, Any], number: int) -> bool:
    """Whether it was taken; each has a name and a target of its own, so that only its faults count."""
    metadata = body["metadata"] | {"name": f"faulty-{number}", "namespace": "default"}
    spec = body.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("scaleTargetRef"), dict):
        spec = spec | {"scaleTargetRef": spec["scaleTargetRef"] | {"name": f"target-{number}"}}
    try:
        async with asyncio.timeout(5):
            await client.create(SCALED_OBJECTS, body | {"metadata": metadata, "spec": spec})
    except (KubeError, TypeError):  # TypeError: a number that JSON cannot carry
        return False
    return True


def in_default(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"metadata": body["metadata"] | {"namespace": "default"}}


def is_ready(guarded: Guarded) -> bool:
    found = guarded.world.find(SCALED_OBJECTS, "good") or {}
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
