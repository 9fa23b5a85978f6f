"""`keda-py doctor` on Argo CD Applications that put the counts of members back."""

from typing import Any

import pytest
import yaml

from keda_py.doctor.diagnosis import Diagnosis
from tests import builders
from tests.doctor.objects import application, environment, found, web, written_by

RESPECT = "RespectIgnoreDifferences=true"
ALL = {"group": "apps", "kind": "Deployment"}


def about(name: str, diagnoses: tuple[Diagnosis, ...]) -> list[tuple[str, str]]:
    return [(one.urgency.value, one.message) for one in diagnoses if one.object == name]


def of_argo(*bodies: Any) -> list[tuple[str, str]]:
    return about("Application argocd/shop", found(*bodies))


def test_self_heal_over_a_member_fights_and_the_lines_to_add_are_written() -> None:
    (one,) = found(environment("web"), web(), application())
    assert (one.urgency, one.object, one.members) == ("fights", "Application argocd/shop", ("Deployment shop/web",))
    assert one.add_to == "Application argocd/shop"
    entry = {"group": "apps", "kind": "Deployment", "name": "web", "namespace": "shop"}
    assert yaml.safe_load(one.lines) == {
        "spec": {
            "ignoreDifferences": [entry | {"jsonPointers": ["/spec/replicas"]}],
            "syncPolicy": {"syncOptions": [RESPECT]},
        }
    }


def test_the_lines_make_peace_once_they_are_added() -> None:
    (one,) = found(environment("web"), web(), application())
    added = yaml.safe_load(one.lines)["spec"]
    mended = application(*added["ignoreDifferences"], options=tuple(added["syncPolicy"]["syncOptions"]))
    assert found(environment("web"), web(), mended) == ()


def test_sync_options_that_are_there_already_stay_in_the_lines() -> None:
    (one,) = found(environment("web"), web(), application(options=("CreateNamespace=true",)))
    assert yaml.safe_load(one.lines)["spec"]["syncPolicy"]["syncOptions"] == ["CreateNamespace=true", RESPECT]


def test_several_members_of_one_application_are_one_diagnosis() -> None:
    (one,) = found(environment("web", "api"), web(), web(name="api"), application(names=("web", "api", "not-a-member")))
    assert one.members == ("Deployment shop/api", "Deployment shop/web")


@pytest.mark.parametrize(
    "entry",
    [
        {**ALL, "jsonPointers": ["/spec/replicas"]},
        {**ALL, "jqPathExpressions": [".spec.replicas"]},
        {**ALL, "jqPathExpressions": ['.spec["replicas"]']},
        {**ALL, "managedFieldsManagers": ["keda-py"]},
        {"group": "*", "kind": "*", "jsonPointers": ["/spec/replicas"]},
        {**ALL, "name": "web", "namespace": "shop", "jsonPointers": ["/spec/replicas"]},
    ],
)
def test_an_ignored_count_is_at_peace(entry: dict[str, Any]) -> None:
    assert of_argo(environment("web"), web(), application(entry, options=(RESPECT,))) == []


@pytest.mark.parametrize(
    "entry",
    [
        {**ALL, "jsonPointers": ["/spec/template"]},
        {**ALL, "jqPathExpressions": [".spec.template"]},
        {**ALL, "managedFieldsManagers": ["kube-controller-manager"]},
        {**ALL, "name": "another", "jsonPointers": ["/spec/replicas"]},
        {"group": "", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]},
        {**ALL, "jsonPointers": "/spec/replicas"},
    ],
)
def test_a_difference_of_something_else_ends_no_fight(entry: dict[str, Any]) -> None:
    ((urgency, _),) = of_argo(environment("web"), web(), application(entry, options=(RESPECT,)))
    assert urgency == "fights"


def test_an_ignored_difference_without_the_sync_option_is_still_written() -> None:
    entry = {**ALL, "jsonPointers": ["/spec/replicas"]}
    (one,) = found(environment("web"), web(), application(entry))
    assert one.message == f"the difference is ignored, but each sync still writes the count: syncOptions lack {RESPECT}"
    assert yaml.safe_load(one.lines) == {"spec": {"syncPolicy": {"syncOptions": [RESPECT]}}}


def test_a_program_in_jq_is_not_guessed_at() -> None:
    entry = {**ALL, "jqPathExpressions": [".spec | select(.paused) | .replicas"]}
    ((urgency, message),) = of_argo(environment("web"), web(), application(entry, options=(RESPECT,)))
    assert urgency == "unknown"
    assert "more than a path" in message


@pytest.mark.parametrize(
    ("deployment", "urgency"),
    [
        (web(in_git=True), "fights"),
        (web(in_git=None, managedFields=[written_by("argocd-controller")]), "fights"),
        (web(in_git=False), None),
        (web(in_git=None, managedFields=[written_by("argocd-controller", count=False)]), None),
        (web(in_git=None), "unknown"),
        (
            web(
                in_git=None,
                managedFields=[
                    written_by("argocd-controller", count=False),
                    written_by("keda-py", time="2026-11-20T20:00:00Z", apply=False),
                ],
            ),
            "note",
        ),
    ],
    ids=["annotation", "applied", "annotation without", "applied without", "no trace", "written since"],
)
def test_a_manifest_without_a_count_is_no_fight(deployment: dict[str, Any], urgency: str | None) -> None:
    told = of_argo(environment("web"), deployment, application())
    assert [one for one, _ in told] == ([urgency] if urgency else [])


def test_without_self_heal_it_is_a_note() -> None:
    ((urgency, message),) = of_argo(environment("web"), web(), application(heals=False))
    assert (urgency, message) == ("note", "each automated sync puts the count back")


def test_an_application_of_another_cluster_is_not_accused() -> None:
    away = application()
    away["spec"]["destination"] = {"server": "https://10.0.0.1:6443"}
    assert of_argo(environment("web"), web(), away) == []


def test_a_member_that_another_clusters_application_manages_is_unknown() -> None:
    tracked = {"argocd.argoproj.io/tracking-id": "shop-eu:apps/Deployment:shop/web"}
    (one,) = found(environment("web"), web(annotations=tracked))
    assert (one.urgency, one.object) == ("unknown", "Deployment shop/web")
    assert "Application shop-eu, which is not in this cluster" in one.message


def test_the_workload_of_a_scaled_object_is_a_member_too() -> None:
    scaled = builders.bare_scaled_object(name="web", namespace="shop")
    ((urgency, _),) = of_argo(scaled, web(), application())
    assert urgency == "fights"
    ours_alone = {**ALL, "managedFieldsManagers": ["keda-py"]}
    ((urgency, _),) = of_argo(scaled, web(), application(ours_alone, options=(RESPECT,)))
    assert urgency == "fights"
    both = {**ALL, "managedFieldsManagers": ["keda-py", "kube-controller-manager"]}
    assert of_argo(scaled, web(), application(both, options=(RESPECT,))) == []


def test_a_workload_that_is_excluded_is_no_member() -> None:
    assert found(environment(), web(3, annotations={"keda-py.dev/exclude": "true"}), application()) == ()


@pytest.mark.parametrize("odd", [None, "text", 7, [], {"resources": [None, "text"]}])
def test_an_application_of_odd_shape_stops_nothing(odd: Any) -> None:
    broken = application() | {"status": odd, "spec": {"syncPolicy": odd, "destination": odd}}
    ((urgency, _),) = of_argo(environment("web"), web(), broken, application())
    assert urgency == "fights"


BY_ITSELF = {"gitops": {"argocd": "IgnoreReplicas"}}


def test_no_line_is_recommended_that_the_operator_adds_by_itself() -> None:
    assert found(environment(**BY_ITSELF), web(3), application()) == ()
    (other,) = found(environment(gitops={"flux": "DisableReconcile"}), web(3), application())
    assert other.lines


def test_a_member_that_sleeps_without_the_lines_fights_and_the_environments_own_error_is_named() -> None:
    asleep = environment("web", **BY_ITSELF)
    (one,) = found(asleep, web(), application())
    assert one.urgency == "fights"
    asleep["status"]["gitops"] = "applications.argoproj.io is forbidden"
    (one,) = found(asleep, web(), application())
    assert one.remedy.endswith("; Environment shop/dev says: applications.argoproj.io is forbidden")


def test_the_lines_that_the_operator_has_added_are_peace() -> None:
    (one,) = found(environment("web"), web(), application())
    added = yaml.safe_load(one.lines)["spec"]
    truce = application(*added["ignoreDifferences"], options=tuple(added["syncPolicy"]["syncOptions"]))
    assert found(environment("web", **BY_ITSELF), web(), truce) == ()


def test_lines_of_an_application_of_an_application_set_stay_the_users() -> None:
    generated = application()
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "shops", "uid": "u"}
    generated["metadata"]["ownerReferences"] = [owner]
    (one,) = found(environment(**BY_ITSELF), web(3), generated)
    assert one.urgency == "fights"


def test_a_scaled_object_writes_the_count_by_day_too_so_its_lines_are_recommended() -> None:
    scaled = builders.bare_scaled_object(namespace="shop", name="web", scaleTargetRef={"name": "web"})
    (one,) = found(environment(**BY_ITSELF), scaled, web(3), application())
    assert one.urgency == "fights"
