"""The role for people of charts/keda-py, where the cluster enforces it: an Override, and nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.clock import FakeClock
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.overriding import Wish, request
from keda_py.environments.show import look_at_all
from keda_py.errors import Forbidden
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CALENDARS, DEPLOYMENTS, ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS, SCALING_SCHEDULES
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.terminal.times import Times
from keda_py.validation.report import validate_texts
from tests.builders import a_namespace, environment
from tests.charts.rendering import KEDA_PY, only, render
from tests.definitions import DEFINITIONS
from tests.environments.builders import NOW
from tests.kubeconfigs import token_kubeconfig

ROLE, SHOP, BANK = "keda-py-environment-user", "shop", "bank"
JANA = User(name="jana", groups=("system:authenticated",))
TIMES = Times(now=NOW)


def bound(user: str) -> dict[str, Any]:
    """The role in namespace shop."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "environments", "namespace": SHOP},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": ROLE},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }


@asynccontextmanager
async def shop_of_jana(folder: Path) -> AsyncIterator[KubeClient]:
    """A cluster with the chart's role, bound to her in one namespace; the client is hers."""
    clock = FakeClock(NOW)
    async with LocalCluster(clock, ClusterOptions(enforce_rbac=True)) as cluster:
        await cluster.apply(DEFINITIONS)
        made = [{**environment(), "metadata": {"name": "dev", "namespace": name}} for name in (SHOP, BANK)]
        role = only(render(), "ClusterRole", ROLE)
        await cluster.apply([a_namespace(SHOP), a_namespace(BANK), role, bound("jana"), *made])
        kubeconfig = folder / "jana"
        kubeconfig.write_text(token_kubeconfig(cluster, JANA))
        async with KubeClient(clock, str(kubeconfig)) as client:
            yield client


async def test_who_has_the_role_in_a_namespace_may_create_overrides_there_and_nothing_else(tmp_path: Path) -> None:
    async with shop_of_jana(tmp_path) as client:
        for name in ("dev", ""):
            wish = Wish(state=OverrideState.AWAKE, name=name, length="3h", reason="release night")
            told, made = await request(client, SHOP, wish, TIMES)
            assert made["metadata"]["annotations"] == {"keda-py.dev/requested-by": "jana"}
            assert made["spec"].get("target", {}).get("name", "") == name
            assert "for 3 h from now" in told[0]
        with pytest.raises(Forbidden):
            await request(client, BANK, Wish(state=OverrideState.ASLEEP, name="dev", length="3h"), TIMES)
        with pytest.raises(Forbidden, match="environments"):
            await look_at_all(client, SHOP, TIMES, 80)
        for resource in (ENVIRONMENTS, OVERRIDES, CALENDARS, SCALING_SCHEDULES, SCALED_OBJECTS, DEPLOYMENTS):
            with pytest.raises(Forbidden):
                await client.list(resource, SHOP)
        refused = [
            client.delete(OVERRIDES.named(SHOP, made["metadata"]["name"])),
            client.patch(OVERRIDES.named(SHOP, made["metadata"]["name"]), {"spec": {"state": "Hold"}}),
            client.patch(OVERRIDES.named(SHOP, made["metadata"]["name"], "status"), {"status": {}}),
            client.create(ENVIRONMENTS, {**environment(), "metadata": {"name": "mine", "namespace": SHOP}}),
        ]
        for asked in refused:
            with pytest.raises(Forbidden):
                await asked


def test_those_who_may_edit_a_namespace_have_it_only_where_roles_are_aggregated() -> None:
    assert "aggregate-to" not in str(only(render(), "ClusterRole", ROLE))
    role = only(render(rbac={"aggregateToDefaultRoles": True}), "ClusterRole", ROLE)
    labels = role["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert role["rules"] == [{"apiGroups": ["keda-py.dev"], "resources": ["overrides"], "verbs": ["create"]}]
    assert "aggregate-to-view" not in str(labels)


@pytest.mark.parametrize("values", [{"environments": {"enabled": False}}, {"clusterScoped": {"create": False}}])
def test_without_environments_or_rights_on_the_cluster_the_role_is_not_made(values: dict[str, Any]) -> None:
    assert ROLE not in str(render(**{"watchNamespace": SHOP, **values}))


async def test_the_manifests_of_the_readme_are_valid() -> None:
    page = (KEDA_PY / "README.md").read_text().partition("\n## Environments\n")[2].partition("\n## ")[0]
    blocks = [block.partition("```")[0] for block in page.split("```yaml\n")[1:]]
    kinds = [yaml.safe_load(block)["kind"] for block in blocks]
    assert kinds == ["Calendar", "Environment", "ClusterEnvironment", "Override", "ScalingSchedule"]
    report = await validate_texts({"README.md": "---\n".join(blocks)})
    assert [problem.sentence for problem in report.problems] == []
    assert report.objects == len(kinds)
