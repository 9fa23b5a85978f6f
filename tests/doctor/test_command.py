"""`keda-py doctor` as it is called, on a cluster."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from keda_py import cli
from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from tests.builders import a_namespace, deployment, environment, obj, workload
from tests.definitions import DEFINITIONS

BUDGET = obj(
    "policy/v1",
    "PodDisruptionBudget",
    "web",
    "shop",
    spec={"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0},
)
READER = User(name="reader", groups=())


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(SystemClock(), ClusterOptions(enforce_rbac=True)) as running:
        await running.apply(DEFINITIONS)
        yield running


async def doctor(cluster: LocalCluster, tmp_path: Path, *arguments: str, user: User | None = None) -> int:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig(user) if user else cluster.kubeconfig())
    return await asyncio.to_thread(cli.main, ["doctor", *arguments, "--kubeconfig", str(kubeconfig)])


async def furnish(cluster: LocalCluster, tmp_path: Path) -> None:
    path = tmp_path / "admin"
    path.write_text(cluster.kubeconfig())
    async with KubeClient(SystemClock(), str(path)) as client:
        for name in ("shop", "quiet"):
            await client.create(NAMESPACES, a_namespace(name))
    quiet = workload("Deployment", "web", 1, namespace="quiet")
    await cluster.apply([deployment("web", 2, namespace="shop"), quiet, environment(namespace="shop"), BUDGET])


async def test_what_fights_is_printed_with_its_lines_and_fails_a_pipeline_alone(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await furnish(cluster, tmp_path)
    assert await doctor(cluster, tmp_path, "-n", "shop") == 0
    printed = capsys.readouterr().out
    assert "fights: PodDisruptionBudget shop/web: maxUnavailable 0 allows no eviction" in printed
    assert "    add to PodDisruptionBudget shop/web:\n        spec:\n          maxUnavailable: 1\n" in printed
    assert "1 fights, 0 unknown, 0 notes" in printed
    assert await doctor(cluster, tmp_path, "-A", "--ci") == 1
    assert await doctor(cluster, tmp_path, "-n", "quiet", "--ci") == 0


async def test_a_program_reads_json(cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await furnish(cluster, tmp_path)
    await doctor(cluster, tmp_path, "-A", "-o", "json")
    (found,) = orjson.loads(capsys.readouterr().out)
    assert found["urgency"] == "fights"
    assert found["members"] == ["Deployment shop/web"]


async def test_a_user_who_may_read_nothing_is_told_so_and_a_pipeline_fails(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await doctor(cluster, tmp_path, "-A", "--ci", user=READER) == 1
    printed = capsys.readouterr().out
    for kind in ("Environment", "Deployment", "PodDisruptionBudget", "ResourceQuota", "ValidatingWebhookConfiguration"):
        assert f"unknown: {kind}: could not be looked at: " in printed


async def test_applications_are_found_where_argo_cd_is_installed(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await furnish(cluster, tmp_path)
    await cluster.apply([APPLICATIONS])
    resource = {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
    spec = {"destination": {"name": "in-cluster"}, "syncPolicy": {"automated": {"selfHeal": True}}}
    shop = obj("argoproj.io/v1alpha1", "Application", "shop", "quiet", spec=spec) | {
        "status": {"resources": [resource]}
    }
    await cluster.apply([shop])
    await doctor(cluster, tmp_path, "-n", "shop")
    printed = capsys.readouterr().out
    assert "unknown: Application quiet/shop: selfHeal puts the count back at once if Git's manifest sets one" in printed
    assert "jsonPointers:" in printed


def _definition(group: str, kind: str, plural: str, version: str) -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
        "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
    }
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


APPLICATIONS = _definition("argoproj.io", "Application", "applications", "v1alpha1")
