"""What one version of Kubernetes makes of HPAs, those of the files and those that ScaledObjects ask for.

For `keda-py validate --kubernetes 1.37`. An HPA of the files is judged by the API server's own rules, in its words.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, text_at
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding
from keda_py.core.hpa.wire import WITHOUT_PODS
from keda_py.core.values.kubernetes import CONTAINER_METRICS, SCALE_TO_ZERO, TOLERANCE, gates_on, since
from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.hpa_rules import with_gates
from keda_py.validation.schemas import check_against

_GROUP, _KIND = "autoscaling", "HorizontalPodAutoscaler"
_VERSIONS = ("v2", "v1")
_TO_ZERO = f"HPAs go to zero from 1.{since(SCALE_TO_ZERO)} on, a ScaledObject does so on every version"
_DIRECTIONS = ("scaleUp", "scaleDown")


def is_hpa(body: Mapping[str, Any]) -> bool:
    """Whether it is an HPA, of any version of its group."""
    return body["kind"] == _KIND and str(body["apiVersion"]).partition("/")[0] == _GROUP


def check_hpa_of(body: dict[str, Any], kubernetes: int) -> Iterator[Finding]:
    """An HPA of the files, as the API server of that version would take it."""
    version = body["apiVersion"].partition("/")[2]
    schema = schema_of(_GROUP, version, _KIND)
    if schema is None:
        served = " or ".join(f"{_GROUP}/{one}" for one in _VERSIONS)
        text = f'apiVersion: 1.{kubernetes} does not serve {_KIND} as "{body["apiVersion"]}"; write {served}'
        yield Denial(message=text, reason="schema", field="apiVersion")
        return
    found = list(check_against(body, with_gates(schema, gates_on(kubernetes))))
    for finding in found:
        yield _with_remedy(finding, kubernetes)
    if found:
        return
    spec = map_at(body, "spec")
    yield from _check_behavior(map_at(spec, "behavior"), "spec.behavior", kubernetes)
    for index, metric in enumerate(maps_at(spec, "metrics")):
        kind = text_at(metric, "type")
        if kind == "ContainerResource" and CONTAINER_METRICS not in gates_on(kubernetes):
            yield _deny_container_metric(f"spec.metrics[{index}].type", kubernetes)
        if spec.get("minReplicas") == 0 and kind not in WITHOUT_PODS:
            text = f"the HPA stays at 1 pod as long as that uses any of this {kind} metric; a ScaledObject would not"
            yield _warn(f"spec.metrics[{index}]", text)


def check_scaled_object_of(body: Mapping[str, Any], kubernetes: int) -> Iterator[Finding]:
    """What the HPA of a ScaledObject would lose with that version."""
    config = ("advanced", "horizontalPodAutoscalerConfig", "behavior")
    yield from _check_behavior(map_at(body, "spec", *config), ".".join(("spec", *config)), kubernetes)
    if CONTAINER_METRICS in gates_on(kubernetes):
        return
    for index, trigger in enumerate(maps_at(body, "spec", "triggers")):
        if text_at(trigger, "type") in ("cpu", "memory") and text_at(trigger, "metadata", "containerName"):
            yield _deny_container_metric(f"spec.triggers[{index}].metadata.containerName", kubernetes)


def _check_behavior(behavior: Mapping[str, Any], field: str, kubernetes: int) -> Iterator[Finding]:
    if TOLERANCE in gates_on(kubernetes):
        return
    for direction in _DIRECTIONS:
        if map_at(behavior, direction).get("tolerance") is not None:
            text = f"1.{kubernetes} drops this field, 1.{since(TOLERANCE)} is the first that keeps it"
            yield _warn(f"{field}.{direction}.tolerance", f"{text}; leave it out")


def _deny_container_metric(field: str, kubernetes: int) -> Denial:
    text = f"1.{kubernetes} has no metrics of one container, 1.{since(CONTAINER_METRICS)} is the first; leave it out"
    return Denial(message=f"{field}: {text}", reason="kubernetes-version", field=field)


def _warn(field: str, text: str) -> AdmissionWarning:
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=codes.KUBERNETES_VERSION)


def _with_remedy(finding: Finding, kubernetes: int) -> Finding:
    """The API server says that 0 is too little; this says from which version on it is not."""
    if SCALE_TO_ZERO in gates_on(kubernetes) or finding.field != "spec.minReplicas":
        return finding
    return Denial(message=f"{finding.message}; {_TO_ZERO}", reason="kubernetes-version", field=finding.field)
