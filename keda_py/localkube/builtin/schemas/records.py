"""Schemas of Leases, pod metrics and Events (the core kind and its events.k8s.io view)."""

from keda_py.schema.builders import (
    array,
    int32,
    int64,
    mapping,
    micro_time,
    obj,
    optional,
    quantity,
    string,
    time,
)
from keda_py.schema.meta import OBJECT_REFERENCE, kind

LEASE_SPEC = obj(
    holderIdentity=string(),
    leaseDurationSeconds=int32(minimum=1),
    acquireTime=micro_time(),
    renewTime=micro_time(),
    leaseTransitions=int32(minimum=0),
    strategy=string(),
    preferredHolder=string(),
)
SOURCE = obj(component=string(), host=string())

CORE_EVENT = kind(
    "",
    "v1",
    "Event",
    involvedObject=optional(OBJECT_REFERENCE, default={}),
    reason=string(),
    message=string(),
    source=optional(SOURCE, default={}),
    firstTimestamp=time(nullable=True, default=None),
    lastTimestamp=time(nullable=True, default=None),
    count=int32(),
    type=string(),
    eventTime=micro_time(nullable=True, default=None),
    series=obj(count=int32(), lastObservedTime=micro_time()),
    action=string(),
    related=OBJECT_REFERENCE,
    reportingComponent=string(default=""),
    reportingInstance=string(default=""),
)
EVENT = kind(
    "events.k8s.io",
    "v1",
    "Event",
    eventTime=micro_time(nullable=True, default=None),
    series=obj("count", "lastObservedTime", count=int32(), lastObservedTime=micro_time()),
    reportingController=string(),
    reportingInstance=string(),
    action=string(),
    reason=string(),
    regarding=optional(OBJECT_REFERENCE, default={}),
    related=OBJECT_REFERENCE,
    note=string(),
    type=string(),
    deprecatedSource=optional(SOURCE, default={}),
    deprecatedFirstTimestamp=time(nullable=True, default=None),
    deprecatedLastTimestamp=time(nullable=True, default=None),
    deprecatedCount=int32(),
)

POD_METRICS = kind(
    "metrics.k8s.io",
    "v1beta1",
    "PodMetrics",
    timestamp=time(),
    window=string(),
    containers=array(obj(name=string(), usage=mapping(quantity()), observedGeneration=int64())),
)

KINDS = [kind("coordination.k8s.io", "v1", "Lease", spec=LEASE_SPEC), CORE_EVENT, EVENT, POD_METRICS]
