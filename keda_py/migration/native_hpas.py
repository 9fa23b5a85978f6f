"""HPAs that no ScaledObject owns and that go to zero by themselves, and ScaledObjects that such an HPA could replace.

From Kubernetes 1.37 on both are possible. Nothing here blocks: MIGRATING.md says when which of them is enough.
"""

from collections.abc import Iterator

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, texts_at, title_of
from keda_py.core.hpa.conditions import ZeroMark
from keda_py.core.hpa.wire import WITHOUT_PODS, read_zero_mark
from keda_py.core.values.kubernetes import SCALE_TO_ZERO, parse_version, since
from keda_py.errors import ConfigError
from keda_py.kube.resources import (
    DEPLOYMENTS,
    ENVIRONMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    Obj,
)
from keda_py.migration.findings import Finding, Severity, fine
from keda_py.migration.installation import Installation

_PAGE = 'MIGRATING.md, "Native HPAs that go to zero", says what each of them lacks'
_ADAPTED = frozenset({"aws-cloudwatch", "azure-monitor", "datadog", "gcp-stackdriver", "prometheus"})
"""Types of triggers whose source has a metrics adapter for HPAs."""
_BEYOND = ("advanced", "fallback", "idleReplicaCount")
"""Fields of a ScaledObject that a native HPA has nothing for, or says elsewhere."""


def check_native_hpas(installation: Installation) -> Iterator[Finding]:
    """The HPAs first, then the ScaledObjects."""
    for hpa in installation.of(HORIZONTAL_POD_AUTOSCALERS):
        if is_native(hpa) and map_at(hpa, "spec").get("minReplicas") == 0:
            yield from _check_hpa(hpa, installation)
    if _goes_to_zero(installation):
        governed = {namespace_of(each) for each in installation.of(ENVIRONMENTS)}
        for scaled_object in installation.of(SCALED_OBJECTS):
            if namespace_of(scaled_object) not in governed and (types := _replaceable(scaled_object)):
                message = f"could be a native HPA with minReplicas 0 and an adapter for {', '.join(types)}"
                yield fine(scaled_object, message, f"leave it; {_PAGE}")


def is_native(hpa: Obj) -> bool:
    """Whether no ScaledObject owns it."""
    return all(text_at(owner, "kind") != SCALED_OBJECTS.kind for owner in maps_at(hpa, "metadata", "ownerReferences"))


def _check_hpa(hpa: Obj, installation: Installation) -> Iterator[Finding]:
    spec = map_at(hpa, "spec")
    kind, name = (text_at(spec, "scaleTargetRef", field) for field in ("kind", "name"))
    metrics = list(maps_at(spec, "metrics"))
    triggers = " and ".join(_metric_words(metric) for metric in metrics if text_at(metric, "type") in WITHOUT_PODS)
    message = (
        f"goes to zero by itself{_needs_gate(installation)}; this could be a ScaledObject: scaleTargetRef "
        f"{kind} {name}, minReplicaCount 0, maxReplicaCount {spec.get('maxReplicas')}, a trigger for {triggers}"
    )
    yield fine(hpa, message, f"leave it, or write the ScaledObject and delete the HPA in its place; {_PAGE}")
    for metric in metrics:
        if text_at(metric, "type") not in WITHOUT_PODS:
            yield fine(
                hpa, f"stays at 1 pod as long as that uses any of its metric {_metric_words(metric)}", _OTHER_METRIC
            )
    yield from _check_zero(hpa, f"{kind.lower()}/{name} -n {namespace_of(hpa) or 'default'}", installation)
    for scaled_object in installation.of(SCALED_OBJECTS):
        if _is_of(scaled_object, hpa):
            rival = f"scales the workload of {title_of(scaled_object)}, too, beside the HPA that this one owns"
            yield Finding(severity=Severity.CHANGES, object=title_of(hpa), message=rival, remedy="keep one of the two")


_OTHER_METRIC = "take the metric out, or write a ScaledObject: that goes to zero beside cpu and memory triggers"


def _check_zero(hpa: Obj, workload: str, installation: Installation) -> Iterator[Finding]:
    mark, remedy = (
        read_zero_mark(hpa),
        f"scale it up once, if it is to be scaled: kubectl scale {workload} --replicas=1",
    )
    governed = namespace_of(hpa) in {namespace_of(each) for each in installation.of(ENVIRONMENTS)}
    if mark is ZeroMark.HELD and not governed:
        message = "its zero was held by an Environment that is gone, and nothing ends it"
        yield Finding(severity=Severity.CHANGES, object=title_of(hpa), message=message, remedy=remedy)
    elif mark is ZeroMark.NONE and _is_at_zero(hpa, installation):
        yield fine(hpa, "its workload is at a zero that the HPA did not set, and nothing ends it", remedy)


def _is_at_zero(hpa: Obj, installation: Installation) -> bool:
    kind, name = (text_at(hpa, "spec", "scaleTargetRef", field) for field in ("kind", "name"))
    workloads = (*installation.of(DEPLOYMENTS), *installation.of(STATEFUL_SETS))
    wanted = (kind, namespace_of(hpa), name)
    return any(
        (text_at(one, "kind"), namespace_of(one), name_of(one)) == wanted and map_at(one, "spec").get("replicas") == 0
        for one in workloads
    )


def _is_of(scaled_object: Obj, hpa: Obj) -> bool:
    """Whether both scale one workload."""
    scaled, hpa_target = (map_at(one, "spec", "scaleTargetRef") for one in (scaled_object, hpa))
    kinds = [text_at(one, "kind") or DEPLOYMENTS.kind for one in (scaled, hpa_target)]
    names = [text_at(one, "name") for one in (scaled, hpa_target)]
    return namespace_of(scaled_object) == namespace_of(hpa) and kinds[0] == kinds[1] and names[0] == names[1]


def _metric_words(metric: Obj) -> str:
    """Write a metric for a sentence: `queue (4 a pod)`."""
    kind = text_at(metric, "type")
    source = map_at(metric, kind[:1].lower() + kind[1:])
    name, target = text_at(source, "metric", "name") or text_at(source, "name"), map_at(source, "target")
    if average := target.get("averageValue"):
        return f"{name} ({average} a pod)"
    percent, value = target.get("averageUtilization"), target.get("value")
    return f"{name} ({percent} %)" if percent else f"{name} (value {value})" if value else name


def _needs_gate(installation: Installation) -> str:
    if not installation.live or _goes_to_zero(installation):
        return ""
    return f" (before Kubernetes 1.{since(SCALE_TO_ZERO)} only where the feature gate {SCALE_TO_ZERO} is on)"


def _goes_to_zero(installation: Installation) -> bool:
    """Whether HPAs of this cluster may go to zero by default; of files that is not known."""
    try:
        return parse_version(installation.version, field="version") >= since(SCALE_TO_ZERO)
    except ConfigError:
        return False


def _replaceable(scaled_object: Obj) -> list[str]:
    """The types of its triggers, where an adapter serves each, and it uses nothing that an HPA lacks."""
    spec = map_at(scaled_object, "spec")
    types = sorted({text_at(trigger, "type") for trigger in maps_at(spec, "triggers")})
    annotations = texts_at(scaled_object, "metadata", "annotations")
    special = any(field in spec for field in _BEYOND) or any("keda.sh/" in name for name in annotations)
    return types if _ADAPTED.issuperset(types) and not spec.get("minReplicaCount") and not special else []
