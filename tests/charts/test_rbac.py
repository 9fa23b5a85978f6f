"""The roles of charts/keda-py as rendered: how values narrow them."""

import re  # noqa: TID251 (a constant pattern over the chart's own README)
from typing import Any

import pytest
import yaml

from tests.charts.rendering import KEDA_PY, only, render

METRICS = "external.metrics.k8s.io"
RESTRICTED: dict[str, Any] = yaml.safe_load((KEDA_PY / "values-restricted.yaml").read_text())


def test_a_watched_namespace_gets_a_role_of_its_own_and_the_cluster_none() -> None:
    objects = render(watchNamespace="shop, bank", clusterScoped={"create": False})
    assert {one["kind"] for one in objects}.isdisjoint({"ClusterRole", "ClusterRoleBinding"})
    for namespace in ("shop", "bank"):
        role = only(objects, "Role", "keda-operator-watched", namespace)
        assert any("deployments/scale" in rule["resources"] for rule in role["rules"])
        binding = only(objects, "RoleBinding", "keda-operator-watched", namespace)
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "keda-operator", "namespace": "keda"}]


def test_the_kinds_that_may_be_scaled_can_be_narrowed() -> None:
    narrow = render(rbac={"scaledRefKinds": [{"apiGroup": "argoproj.io", "kind": "rollouts"}]})
    rules = only(narrow, "ClusterRole", "keda-operator")["rules"]
    scalable = {
        (group, one) for rule in rules for group in rule["apiGroups"] for one in rule["resources"] if "/scale" in one
    }
    assert ("argoproj.io", "rollouts/scale") in scalable
    assert "*" not in str(scalable)


def test_the_restricted_installation_has_rights_to_workloads_and_secrets_in_the_named_namespaces_only() -> None:
    objects = render(**RESTRICTED)
    roles = [one for one in objects if one["kind"] in ("Role", "ClusterRole")]
    operators = [one for one in roles if one["metadata"]["name"] != "keda-py-environment-user"]
    wide = [rule for one in operators if one["kind"] == "ClusterRole" for rule in one["rules"]]
    assert {resource for rule in wide for resource in rule["resources"] if rule["apiGroups"] != [METRICS]} == {
        "clustertriggerauthentications",
        "clustertriggerauthentications/status",
        "clustercloudeventsources",
        "clustercloudeventsources/status",
        "clustercalendars",
        "clustercalendars/status",
        "namespaces",
        "apiservices",
        "validatingwebhookconfigurations",
    }
    places = {one["metadata"]["namespace"] for one in roles if "secrets" in str(one["rules"])}
    assert places == {"shop", "bank", "keda"}
    assert "*" not in str([one["rules"] for one in roles if not one["metadata"]["name"].endswith("metrics-reader")])


def test_the_readme_begins_with_the_restricted_installation() -> None:
    readme = (KEDA_PY / "README.md").read_text()
    headings = [line for line in readme.splitlines() if line.startswith("## ")]
    assert headings[0] == "## For named namespaces, with named rights"
    values = (KEDA_PY / "values-restricted.yaml").read_text()
    assert f"```yaml\n{values}```" in readme


def test_the_endpoints_of_a_namespace_that_is_not_watched_can_be_allowed() -> None:
    allow = {"operator": {"crossNamespaceEndpoints": ["monitoring", "shop"]}}
    objects = render(watchNamespace="shop", permissions=allow)
    role = only(objects, "Role", "keda-operator-endpoints", "monitoring")
    assert role["rules"] == [{"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]}]
    assert only(objects, "RoleBinding", "keda-operator-endpoints", "monitoring")["roleRef"]["name"] in str(role)
    names = [one["metadata"]["name"] for one in objects + render(permissions=allow)]
    assert names.count("keda-operator-endpoints") == 2
    with pytest.raises(Exception, match="name those that are meant"):
        render(watchNamespace="shop", permissions={"operator": {"crossNamespaceEndpoints": ["*"]}})


def test_nobody_may_read_everything() -> None:
    rules = only(render(), "ClusterRole", "keda-operator")["rules"]
    assert [rule for rule in rules if "*" in rule["resources"] or "*" in rule["verbs"]] == []


def test_secrets_of_other_namespaces_can_be_withheld() -> None:
    objects = render(permissions={"operator": {"restrict": {"secret": True}}})
    assert "secrets" not in str(only(objects, "ClusterRole", "keda-operator"))
    assert "secrets" in str(only(objects, "Role", "keda-operator", "keda"))


def test_the_readme_says_what_needs_each_resource() -> None:
    told = set(re.findall(r"`([a-z*/]+)`", (KEDA_PY / "README.md").read_text()))
    told |= {f"{one}/status" for one in told} | {f"{one}/scale" for one in told}
    token = {"allowAllServiceAccountTokenCreation": True}
    for values in ({}, {"watchNamespace": "shop", "permissions": {"operator": {"restrict": token}}}):
        roles = [one for one in render(**values) if one["kind"] in ("Role", "ClusterRole")]
        operators = [one for one in roles if not one["metadata"]["name"].endswith("-reader")]
        assert {resource for one in operators for rule in one["rules"] for resource in rule["resources"]} <= told


def test_only_listed_secrets_can_be_read_where_a_list_is_given() -> None:
    objects = render(permissions={"operator": {"restrict": {"namesAllowList": ["redis"]}}})
    for role in (only(objects, "ClusterRole", "keda-operator"), only(objects, "Role", "keda-operator", "keda")):
        rules = [rule for rule in role["rules"] if "secrets" in rule["resources"] and rule["verbs"] != ["create"]]
        assert {tuple(rule["resourceNames"]) for rule in rules} <= {("redis",), ("kedaorg-certs",)}


@pytest.mark.parametrize("values", [{}, {"watchNamespace": "shop"}, {"shadow": {"enabled": True}}], ids=str)
def test_only_listed_config_maps_can_be_read_where_a_list_is_given(values: dict[str, Any]) -> None:
    objects = render(permissions={"operator": {"restrict": {"configMapNamesAllowList": ["backlog"]}}}, **values)
    roles = [one for one in objects if one["kind"] in ("Role", "ClusterRole")]
    rules = [rule for role in roles for rule in role["rules"] if "configmaps" in rule["resources"]]
    assert rules
    assert {tuple(rule.get("resourceNames", ())) for rule in rules} == {("backlog",)}
