"""The right that `environments.deleteNamespaces` adds: enough to delete a namespace, and given only then."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import ENVIRONMENTS, NAMESPACES
from keda_py.localkube.access.identity import service_account
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import a_namespace, deployment, environment
from tests.charts.rendering import Obj, render
from tests.charts.rights import given
from tests.operator.environments.builders import labelled
from tests.worlds.world import World, open_world

ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
ON = {"environments": {"deleteNamespaces": True}}
ALONE: dict[str, Any] = {"permissions": {"operator": {"scaledJobs": False, "kubernetesWorkload": False}}}
ROLES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
DAY = 86_400


@asynccontextmanager
async def two_days_later(folder: Path, **values: Any) -> AsyncIterator[World]:
    """Run the operator with the roles of the chart over a namespace that nothing uses for more than two days."""
    async with open_world(folder, options=ClusterOptions(enforce_rbac=True)) as world:
        await world.create(a_namespace("keda"))
        await world.cluster.apply([*_registration(), *(one for one in render(**values) if one["kind"] in ROLES)])
        world.operator.user = service_account("keda", "keda-operator")
        world.operator.flags = {"delete-namespaces": "true"}
        await world.operator.start()
        await world.create(labelled(a_namespace("pr-1"), **{"keda-py.dev/allow-deletion": "true"}))
        await world.create(deployment("web", 1), namespace="pr-1")
        await world.create(environment("dev", "pr-1", calendar=ALWAYS, idleAfter="2h", deleteAfter="26h"))
        await world.seconds(2.2 * DAY)
        yield world


def _registration() -> list[Obj]:
    """Give the operator of a world the right to register itself, which the chart does in its place."""
    name = {"metadata": {"name": "registration"}}
    api, subject = "rbac.authorization.k8s.io", {"kind": "ServiceAccount", "name": "keda-operator", "namespace": "keda"}
    groups = ["apiregistration.k8s.io", "admissionregistration.k8s.io"]
    rules = [
        {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": ["*"]},
    ]
    role = {"apiGroup": api, "kind": "ClusterRole", "name": "registration"}
    return [
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", **name, "rules": rules},
        {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", **name, "roleRef": role, "subjects": [subject]},
    ]


@pytest.mark.parametrize("values", [ON, {**ON, **ALONE}], ids=["usual", "few other rights"])
async def test_the_right_is_enough(tmp_path: Path, values: dict[str, Any]) -> None:
    async with two_days_later(tmp_path, **values) as world:
        assert world.find(NAMESPACES, "pr-1") is None


async def test_without_the_right_the_namespace_stays_and_its_status_names_what_is_refused(tmp_path: Path) -> None:
    async with two_days_later(tmp_path) as world:
        assert world.find(NAMESPACES, "pr-1") is not None
        told = world.get(ENVIRONMENTS, "dev", "pr-1")["status"]["deletion"]["blocked"]
        assert "forbidden" in told.lower()
        assert world.replicas("web", namespace="pr-1") == 0


def test_it_is_given_only_where_it_is_switched_on() -> None:
    def rights(**values: Any) -> set[tuple[str, str]]:
        return {(one.resource, one.verb) for one in given(render(**values))}

    added = {("namespaces", "delete"), ("persistentvolumeclaims", "list"), ("configmaps", "create")}
    assert not added & rights()
    assert rights(**ON) - rights() == {*added, ("configmaps", "update")}
