"""charts/keda-py on an API server: installed, upgraded and removed by Helm, applied by kubectl."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.apis.kinds.table import KINDS
from keda_py.clock import SystemClock
from keda_py.localkube.cluster import LocalCluster
from tests.builders import a_namespace
from tests.charts.rendering import KEDA_PY, Obj, helm, text
from tests.charts.test_golden import WAYS
from tests.localkube.kubectl import Kubectl, needs_kubectl
from tests.sweeps import swept

CRDS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
WEBHOOKS = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
ROLES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
APPLICABLE = swept(
    (way for way in WAYS if way not in ("cert-manager", "everything", "waker")), {"default", "restricted"}
)
"""The others hold kinds of cert-manager, of the Prometheus operator, and admission policies."""


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(SystemClock()) as running:
        yield running


async def helm_does(cluster: LocalCluster, verb: str, *arguments: Any, **options: Any) -> None:
    """`helm VERB`, in namespace keda."""

    def work() -> None:
        with helm().Config(kubeconfig_content=cluster.kubeconfig(), namespace="keda") as config:
            getattr(config, verb)(*arguments, **options)

    await asyncio.to_thread(work)


def found(cluster: LocalCluster, kind: tuple[str, str]) -> list[Obj]:
    return cluster.store.list(cluster.store.resources.get(*kind))


async def test_helm_installs_upgrades_and_removes_it_but_keeps_the_definitions(cluster: LocalCluster) -> None:
    on = {"clusterEnvironments": {"enabled": True}, "kedaDefaults": {"enabled": True}}
    await helm_does(cluster, "install", str(KEDA_PY), "keda", on, create_namespace=True)
    assert len(found(cluster, CRDS)) == len(KINDS)
    await helm_does(cluster, "upgrade", str(KEDA_PY), "keda", {**on, "operator": {"replicaCount": 2}})
    (deployment,) = found(cluster, ("apps/v1", "Deployment"))
    assert deployment["spec"]["replicas"] == 2
    await helm_does(cluster, "uninstall", "keda")
    assert len(found(cluster, CRDS)) == len(KINDS)
    for kind in (("apps/v1", "Deployment"), ("v1", "Service"), WEBHOOKS):
        assert found(cluster, kind) == []
    await helm_does(cluster, "install", str(KEDA_PY), "keda", {})  # the definitions are ours already


async def test_definitions_that_are_not_kept_go_with_the_release(cluster: LocalCluster) -> None:
    await helm_does(cluster, "install", str(KEDA_PY), "keda", {"crds": {"keep": False}}, create_namespace=True)
    await helm_does(cluster, "uninstall", "keda")
    assert found(cluster, CRDS) == []


RIGHTS = (("v1", "ServiceAccount"), *(("rbac.authorization.k8s.io/v1", kind) for kind in ROLES))


def failing_hook(folder: Path) -> Path:
    """The chart, whose Job before an uninstall ends with an error at once."""
    chart = shutil.copytree(KEDA_PY, folder / "keda-py")
    page, labels = chart / "templates/release.yaml", "      labels: {app: {{ $name }},"
    once = page.read_text().replace("backoffLimit: 1", "backoffLimit: 0")
    assert labels in once
    page.write_text(once.replace(labels, f'      annotations: {{local.keda-py.dev/exit-code: "1"}}\n{labels}'))
    return chart


@pytest.mark.parametrize("watched", ["", "shop"])
async def test_the_rights_of_a_hook_that_fails_are_gone_and_its_job_stays_for_the_log(
    watched: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    await cluster.apply([a_namespace("shop")])
    values = {"watchNamespace": watched}
    await helm_does(cluster, "install", str(failing_hook(tmp_path)), "keda", values, create_namespace=True)
    with pytest.raises(helm().HelmError):
        await helm_does(cluster, "uninstall", "keda")
    left = [one["metadata"]["name"] for kind in RIGHTS for one in found(cluster, kind)]
    assert "keda-operator" in left  # nothing else was uninstalled
    assert [name for name in left if name == "keda-operator-release"] == []
    (job,) = found(cluster, ("batch/v1", "Job"))
    assert job["metadata"]["name"] == "keda-operator-release"


@needs_kubectl
async def test_an_upgrade_leaves_the_operators_authority_where_it_wrote_it(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    await helm_does(cluster, "install", str(KEDA_PY), "keda", {}, create_namespace=True)
    kubectl = kubectl_of(cluster, tmp_path)
    patch = '[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "b3Vycw=="}]'
    await kubectl.run("patch", "validatingwebhookconfiguration", "keda-admission", "--type=json", "-p", patch)
    await helm_does(cluster, "upgrade", str(KEDA_PY), "keda", {"webhooks": {"timeoutSeconds": 5}})
    (configuration,) = found(cluster, WEBHOOKS)
    first = configuration["webhooks"][0]
    assert (first["timeoutSeconds"], first["clientConfig"]["caBundle"]) == (5, "b3Vycw==")


@needs_kubectl
@pytest.mark.parametrize("way", APPLICABLE)
async def test_kubectl_applies_a_render_and_finds_nothing_to_change_the_second_time(
    way: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    kubectl, file = kubectl_of(cluster, tmp_path), tmp_path / "render.yaml"
    file.write_text(text(KEDA_PY, {**WAYS[way], "networkPolicy": {"enabled": True}}))
    for namespace in ("keda", "shop", "bank"):
        await kubectl.run("create", "namespace", namespace)
    await kubectl.run("apply", "--server-side", "--dry-run=server", "-f", str(file))
    await kubectl.run("apply", "--server-side", "-f", str(file))
    name = "keda-py-shadow" if way == "shadow" else "keda-operator"
    await kubectl.run("-n", "keda", "rollout", "status", f"deployment/{name}", "--timeout=120s")
    assert await kubectl.run("diff", "--server-side", "-f", str(file)) == ""


def kubectl_of(cluster: LocalCluster, folder: Path) -> Kubectl:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig())
    return Kubectl(kubeconfig=kubeconfig, cache=folder / "cache")
