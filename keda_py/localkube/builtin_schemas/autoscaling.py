"""autoscaling/v2 and /v1: the HorizontalPodAutoscaler."""

from keda_py.localkube.builtin_schemas.builders import (
    array,
    atomic,
    enum,
    int32,
    int64,
    obj,
    optional,
    quantity,
    string,
    time,
)
from keda_py.localkube.builtin_schemas.meta import CONDITIONS, LABEL_SELECTOR, kind

TARGET_REFERENCE = atomic(obj("kind", "name", kind=string(), name=string(), apiVersion=string()))
IDENTIFIER = obj("name", name=string(), selector=LABEL_SELECTOR)
METRIC_TARGET = obj(
    "type",
    type=enum("Utilization", "Value", "AverageValue"),
    value=quantity(),
    averageValue=quantity(),
    averageUtilization=int32(),
)
METRIC = obj(
    "type",
    type=enum("ContainerResource", "External", "Object", "Pods", "Resource"),
    object=obj(
        "describedObject", "target", "metric", describedObject=TARGET_REFERENCE, target=METRIC_TARGET, metric=IDENTIFIER
    ),
    pods=obj("metric", "target", metric=IDENTIFIER, target=METRIC_TARGET),
    resource=obj("name", "target", name=string(), target=METRIC_TARGET),
    containerResource=obj("name", "target", "container", name=string(), target=METRIC_TARGET, container=string()),
    external=obj("metric", "target", metric=IDENTIFIER, target=METRIC_TARGET),
)
POLICY = obj(
    "type", "value", "periodSeconds", type=enum("Pods", "Percent"), value=int32(), periodSeconds=int32(maximum=1800)
)
RULES = obj(
    stabilizationWindowSeconds=int32(minimum=0, maximum=3600),
    selectPolicy=enum("Max", "Min", "Disabled"),
    policies=array(POLICY),
    tolerance=quantity(),
)
SPEC = obj(
    "scaleTargetRef",
    "maxReplicas",
    scaleTargetRef=TARGET_REFERENCE,
    minReplicas=int32(default=1),
    maxReplicas=int32(minimum=1),
    metrics=array(METRIC),
    behavior=obj(scaleUp=RULES, scaleDown=RULES),
)

CURRENT = obj(value=quantity(), averageValue=quantity(), averageUtilization=int32())
METRIC_STATUS = obj(
    type=string(),
    object=obj(metric=IDENTIFIER, current=CURRENT, describedObject=TARGET_REFERENCE),
    pods=obj(metric=IDENTIFIER, current=CURRENT),
    resource=obj(name=string(), current=CURRENT),
    containerResource=obj(name=string(), current=CURRENT, container=string()),
    external=obj(metric=IDENTIFIER, current=CURRENT),
)
STATUS = obj(
    observedGeneration=int64(),
    lastScaleTime=time(),
    currentReplicas=int32(),
    desiredReplicas=int32(default=0),
    currentMetrics=array(METRIC_STATUS, nullable=True, default=None),
    conditions=CONDITIONS,
)

SPEC_V1 = obj(
    "scaleTargetRef",
    "maxReplicas",
    scaleTargetRef=TARGET_REFERENCE,
    minReplicas=int32(default=1),
    maxReplicas=int32(minimum=1),
    targetCPUUtilizationPercentage=int32(),
)
STATUS_V1 = obj(
    observedGeneration=int64(),
    lastScaleTime=time(),
    currentReplicas=int32(default=0),
    desiredReplicas=int32(default=0),
    currentCPUUtilizationPercentage=int32(),
)

KINDS = [
    kind("autoscaling", "v2", "HorizontalPodAutoscaler", spec=SPEC, status=optional(STATUS, default={})),
    kind("autoscaling", "v1", "HorizontalPodAutoscaler", spec=SPEC_V1, status=optional(STATUS_V1, default={})),
]
