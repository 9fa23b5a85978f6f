"""`keda-py migrate check` on HPAs that go to zero by themselves, and on ScaledObjects that such an HPA could replace."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from keda_py.cli.migrate import read_keda_flags
from keda_py.migration.check import check_migration
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import from_bodies
from tests import builders
from tests.builders import environment
from tests.migration.installed import Obj, owned_hpa, watched

QUEUE = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "4"}},
}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
PROMETHEUS = {
    "type": "prometheus",
    "metadata": {"serverAddress": "http://prometheus:9090", "query": "sum(jobs)", "threshold": "4"},
}


def hpa(*metrics: Obj, mark: Obj | None = None, **spec: Any) -> Obj:
    bounds = {"minReplicas": 0, "maxReplicas": 10}
    found = builders.hpa("web", "web", "shop", metrics=list(metrics) or [QUEUE], **bounds | spec)
    return found | {"status": {"conditions": [{"type": "ScaledToZero", **mark}] if mark else []}}


def found(*bodies: Obj, version: str = "v1.37.1") -> list[Finding]:
    installation = replace(from_bodies(bodies), version=version)
    return list(asyncio.run(check_migration(installation, read_keda_flags)))


def told(findings: list[Finding], name: str) -> list[str]:
    return [finding.message for finding in findings if finding.object == f"{name} shop/web"]


def test_an_hpa_that_goes_to_zero_is_told_as_the_scaled_object_that_it_could_be() -> None:
    (message,) = told(found(hpa()), "HorizontalPodAutoscaler")
    assert message == (
        "goes to zero by itself; this could be a ScaledObject: scaleTargetRef Deployment web, minReplicaCount 0, "
        "maxReplicaCount 10, a trigger for queue (4 a pod)"
    )


def test_before_1_37_the_feature_gate_is_named() -> None:
    (message,) = told(found(hpa(), version="v1.36.2"), "HorizontalPodAutoscaler")
    assert "(before Kubernetes 1.37 only where the feature gate HPAScaleToZero is on)" in message


@pytest.mark.parametrize("other", [hpa(minReplicas=1), owned_hpa("web", "s0-x")], ids=["a minimum of 1", "ours"])
def test_other_hpas_are_left_alone(other: Obj) -> None:
    assert told(found(other), "HorizontalPodAutoscaler") == []


def test_a_resource_metric_is_told_to_keep_it_from_zero() -> None:
    _, message = told(found(hpa(QUEUE, CPU)), "HorizontalPodAutoscaler")
    assert message == "stays at 1 pod as long as that uses any of its metric cpu (60 %)"


@pytest.mark.parametrize(
    ("mark", "severity"),
    [
        ({"status": "False", "reason": "NotScaledToZero"}, Severity.FINE),
        ({"status": "False", "reason": "HeldAsleep"}, Severity.CHANGES),
    ],
    ids=["of another client", "of an Environment that is gone"],
)
def test_a_zero_that_nothing_ends_is_told_with_the_remedy(mark: Obj, severity: Severity) -> None:
    deployment = builders.workload("Deployment", "web", 0, namespace="shop")
    (finding,) = [one for one in found(hpa(mark=mark), deployment) if "nothing ends it" in one.message]
    assert finding.severity is severity
    assert finding.remedy.endswith("kubectl scale deployment/web -n shop --replicas=1")


@pytest.mark.parametrize(
    ("mark", "others"),
    [
        ({"status": "True", "reason": "ScaledToZero"}, []),
        ({"status": "False", "reason": "HeldAsleep"}, [environment(namespace="shop")]),
    ],
    ids=["its own", "held by night"],
)
def test_a_zero_that_is_ended_is_not_told(mark: Obj, others: list[Obj]) -> None:
    deployment = builders.workload("Deployment", "web", 0, namespace="shop")
    assert [one for one in found(hpa(mark=mark), deployment, *others) if "nothing ends it" in one.message] == []


def test_an_hpa_beside_a_scaled_object_is_told_apart_from_the_one_that_this_owns() -> None:
    findings = found(hpa(), watched(scaleTargetRef={"name": "web"}), owned_hpa("keda-hpa-web"))
    rivals = [one for one in findings if "scales the workload of ScaledObject shop/web, too" in one.message]
    assert [(one.object, one.severity) for one in rivals] == [("HorizontalPodAutoscaler shop/web", Severity.CHANGES)]


def could_be_native(findings: list[Finding]) -> bool:
    return any("could be a native HPA" in message for message in told(findings, "ScaledObject"))


def test_a_scaled_object_that_a_native_hpa_could_replace_is_told() -> None:
    assert could_be_native(found(watched(PROMETHEUS)))


@pytest.mark.parametrize(
    ("bodies", "version"),
    [
        ([watched(PROMETHEUS)], "v1.36.2"),
        ([watched(PROMETHEUS)], ""),
        ([watched()], "v1.37.1"),
        ([watched(PROMETHEUS, minReplicaCount=1)], "v1.37.1"),
        ([watched(PROMETHEUS, idleReplicaCount=0, minReplicaCount=0)], "v1.37.1"),
        ([watched(PROMETHEUS), environment(namespace="shop")], "v1.37.1"),
    ],
    ids=["an older cluster", "files", "a schedule", "never at zero", "an idle count", "under an Environment"],
)
def test_one_that_a_native_hpa_could_not_replace_is_not_told(bodies: list[Obj], version: str) -> None:
    assert not could_be_native(found(*bodies, version=version))
