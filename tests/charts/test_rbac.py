"""The roles of charts/keda-py as rendered: how values narrow them."""

from tests.charts.rendering import only, render


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


def test_nobody_may_read_everything() -> None:
    rules = only(render(), "ClusterRole", "keda-operator")["rules"]
    assert [rule for rule in rules if "*" in rule["resources"] or "*" in rule["verbs"]] == []


def test_secrets_of_other_namespaces_can_be_withheld() -> None:
    objects = render(permissions={"operator": {"restrict": {"secret": True}}})
    assert "secrets" not in str(only(objects, "ClusterRole", "keda-operator"))
    assert "secrets" in str(only(objects, "Role", "keda-operator", "keda"))
