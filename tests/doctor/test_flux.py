"""`keda-py doctor` on Flux's Kustomizations and HelmReleases that set the counts of members."""

from typing import Any

import pytest
import yaml

from tests.builders import obj
from tests.doctor.objects import environment, found, web, written_by

KUSTOMIZE = {"kustomize.toolkit.fluxcd.io/name": "shop", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
HELM = {"helm.toolkit.fluxcd.io/name": "shop", "helm.toolkit.fluxcd.io/namespace": "flux-system"}


def kustomization(**spec: Any) -> dict[str, Any]:
    return obj("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "shop", "flux-system", spec=spec)


def helm_release(mode: str = "enabled", *ignore: dict[str, Any]) -> dict[str, Any]:
    spec = {"driftDetection": {"mode": mode, "ignore": list(ignore)}}
    return obj("helm.toolkit.fluxcd.io/v2", "HelmRelease", "shop", "flux-system", spec=spec)


def applied(*, count: bool = True, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    fields = [written_by("kustomize-controller", count=count)]
    return web(in_git=None, labels=KUSTOMIZE, managedFields=fields, annotations=annotations or {})


def released(count: bool | None = True, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    fields = [] if count is None else [written_by("helm-controller", count=count)]
    return web(in_git=None, labels=HELM, managedFields=fields, annotations=annotations or {})


def test_a_kustomization_that_applies_a_count_fights_and_gets_a_patch_that_takes_it_out() -> None:
    (one,) = found(environment("web"), applied(), kustomization())
    assert (one.urgency, one.object) == ("fights", "Kustomization flux-system/shop")
    (patch,) = yaml.safe_load(one.lines)["spec"]["patches"]
    assert patch["target"] == {"group": "apps", "kind": "Deployment", "name": "web", "namespace": "shop"}
    assert yaml.safe_load(patch["patch"]) == [{"op": "remove", "path": "/spec/replicas"}]


@pytest.mark.parametrize(
    "deployment",
    [
        applied(count=False),
        applied(annotations={"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}),
        applied(annotations={"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}),
    ],
    ids=["no count in Git", "left alone", "applied once"],
)
def test_a_kustomization_that_does_not_write_the_count_is_at_peace(deployment: dict[str, Any]) -> None:
    assert found(environment("web"), deployment, kustomization()) == ()


def test_a_suspended_kustomization_is_a_note() -> None:
    (one,) = found(environment("web"), applied(), kustomization(suspend=True))
    assert one.urgency == "note"


def test_a_kustomization_that_cannot_be_listed_is_named_by_the_labels_of_the_member() -> None:
    refused, named = sorted(
        found(environment("web"), applied(), unread={"Kustomization": "forbidden"}),
        key=lambda one: one.urgency,
        reverse=True,
    )
    assert (refused.urgency, refused.object) == ("unknown", "Kustomization")
    assert (named.urgency, named.object) == ("fights", "Kustomization flux-system/shop")


def test_drift_detection_over_a_member_fights_and_the_rule_makes_peace() -> None:
    (one,) = found(environment("web"), released(), helm_release())
    assert (one.urgency, one.object) == ("fights", "HelmRelease flux-system/shop")
    rules = yaml.safe_load(one.lines)["spec"]["driftDetection"]["ignore"]
    assert found(environment("web"), released(), helm_release("enabled", *rules)) == ()


@pytest.mark.parametrize("mode", ["disabled", "warn"])
def test_a_release_without_drift_detection_is_a_note(mode: str) -> None:
    (one,) = found(environment("web"), released(), helm_release(mode))
    assert (one.urgency, one.message) == ("note", "sets the count of members at each upgrade of the release")


def test_a_chart_whose_count_has_left_no_trace_is_unknown() -> None:
    (one,) = found(environment("web"), released(None), helm_release())
    assert one.urgency == "unknown"


@pytest.mark.parametrize(
    ("rule", "peace"),
    [
        ({"paths": ["/spec/replicas"]}, True),
        ({"paths": ["/spec/replicas"], "target": {"kind": "Deployment", "name": "we.*"}}, True),
        ({"paths": ["/spec/replicas"], "target": {"name": "we"}}, False),
        ({"paths": ["/spec/replicas"], "target": {"name": "("}}, False),
        ({"paths": ["/spec/paused"]}, False),
    ],
)
def test_rules_of_drift_detection_are_read_as_flux_does(rule: dict[str, Any], peace: bool) -> None:
    assert (found(environment("web"), released(), helm_release("enabled", rule)) == ()) == peace


def test_a_release_that_leaves_a_member_out_of_drift_detection_is_at_peace() -> None:
    left_out = released(annotations={"helm.toolkit.fluxcd.io/driftDetection": "disabled"})
    assert found(environment("web"), left_out, helm_release()) == ()


BY_ITSELF = {"gitops": {"flux": "DisableReconcile"}}


def test_nothing_is_recommended_that_the_operator_annotates_by_itself() -> None:
    assert found(environment(**BY_ITSELF), applied(), kustomization()) == ()
    assert found(environment(**BY_ITSELF), released(), helm_release()) == ()
    (one,) = found(environment(gitops={"argocd": "IgnoreReplicas"}), applied(), kustomization())
    assert one.lines


def test_an_upgrade_of_a_release_heeds_no_annotation() -> None:
    (one,) = found(environment(**BY_ITSELF), released(), helm_release("disabled"))
    assert (one.urgency, one.message) == ("note", "sets the count of members at each upgrade of the release")


def test_a_member_that_sleeps_without_its_annotation_fights_and_the_environments_own_error_is_named() -> None:
    asleep = environment("web", **BY_ITSELF)
    asleep["status"]["gitops"] = "Deployment/web is not annotated for Flux: forbidden"
    (one,) = found(asleep, applied(), kustomization())
    assert one.urgency == "fights"
    assert one.remedy.endswith("Environment shop/dev says: Deployment/web is not annotated for Flux: forbidden")
    (drift,) = found(asleep, released(), helm_release())
    assert drift.remedy == "Environment shop/dev says: Deployment/web is not annotated for Flux: forbidden"
