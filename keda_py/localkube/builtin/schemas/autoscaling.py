"""Schemas of the HorizontalPodAutoscaler: autoscaling/v2 and /v1."""

from keda_py.schema.builders import (
    array,
    atomic,
    int32,
    int64,
    obj,
    optional,
    quantity,
    string,
    time,
)
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, kind

TARGET_REFERENCE = atomic(obj("kind", "name", kind=string(), name=string(), apiVersion=string()))
IDENTIFIER = obj(name=string(), selector=LABEL_SELECTOR)
# `hpa_rules` checks the required fields of metrics: the API server has a text for each source.
METRIC_TARGET = obj(
    type=string(),
    value=quantity(),
    averageValue=quantity(),
    averageUtilization=int32(),
)
METRIC = obj(
    type=string(),
    object=obj("describedObject", describedObject=TARGET_REFERENCE, target=METRIC_TARGET, metric=IDENTIFIER),
    pods=obj(metric=IDENTIFIER, target=METRIC_TARGET),
    resource=obj(name=string(), target=METRIC_TARGET),
    containerResource=obj(name=string(), target=METRIC_TARGET, container=string()),
    external=obj(metric=IDENTIFIER, target=METRIC_TARGET),
)
RULES = obj(
    stabilizationWindowSeconds=int32(),
    selectPolicy=string(),
    policies=array(obj(type=string(), value=int32(), periodSeconds=int32())),
    tolerance=quantity(),
)
SPEC = obj(
    "scaleTargetRef",
    scaleTargetRef=TARGET_REFERENCE,
    minReplicas=int32(default=1),
    maxReplicas=int32(),
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
    scaleTargetRef=TARGET_REFERENCE,
    minReplicas=int32(default=1),
    maxReplicas=int32(),
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
