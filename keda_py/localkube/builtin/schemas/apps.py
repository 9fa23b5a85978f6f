"""Schemas of the workloads: apps/v1 and batch/v1."""

from keda_py.localkube.builtin.schemas.pods import POD_TEMPLATE
from keda_py.schema.builders import (
    Schema,
    array,
    boolean,
    enum,
    int32,
    int64,
    int_or_string,
    obj,
    opened,
    optional,
    string,
    time,
)
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, OBJECT_META, kind

# In the order in which the API server reports missing fields.
ROLLING = obj(maxUnavailable=int_or_string(), maxSurge=int_or_string())

DEPLOYMENT_SPEC = obj(
    "selector",
    "template",
    replicas=int32(minimum=0, default=1),
    selector=LABEL_SELECTOR,
    template=POD_TEMPLATE,
    strategy=obj(type=enum("Recreate", "RollingUpdate", default="RollingUpdate"), rollingUpdate=ROLLING),
    minReadySeconds=int32(minimum=0),
    revisionHistoryLimit=int32(minimum=0, default=10),
    paused=boolean(),
    progressDeadlineSeconds=int32(minimum=0, default=600),
)
DEPLOYMENT_SPEC["properties"]["strategy"]["x-kubernetes-patch-strategy"] = "retainKeys"

DEPLOYMENT_STATUS = obj(
    observedGeneration=int64(),
    replicas=int32(),
    updatedReplicas=int32(),
    readyReplicas=int32(),
    availableReplicas=int32(),
    unavailableReplicas=int32(),
    terminatingReplicas=int32(),
    conditions=CONDITIONS,
    collisionCount=int32(),
)

REPLICA_SET_SPEC = obj(
    "selector",
    replicas=int32(minimum=0, default=1),
    minReadySeconds=int32(minimum=0),
    selector=LABEL_SELECTOR,
    template=POD_TEMPLATE,
)
REPLICA_SET_STATUS = obj(
    replicas=int32(default=0),
    fullyLabeledReplicas=int32(),
    readyReplicas=int32(),
    availableReplicas=int32(),
    terminatingReplicas=int32(),
    observedGeneration=int64(),
    conditions=CONDITIONS,
)

STATEFUL_SET_STRATEGY = obj(
    type=enum("RollingUpdate", "OnDelete", default="RollingUpdate"),
    rollingUpdate=obj(partition=int32(default=0), maxUnavailable=int_or_string()),
)
STATEFUL_SET_SPEC = obj(
    "selector",
    "template",
    replicas=int32(minimum=0, default=1),
    selector=LABEL_SELECTOR,
    template=POD_TEMPLATE,
    volumeClaimTemplates=array(opened()),
    serviceName=string(default=""),
    podManagementPolicy=enum("OrderedReady", "Parallel", default="OrderedReady"),
    updateStrategy=optional(STATEFUL_SET_STRATEGY, default={}),
    revisionHistoryLimit=int32(minimum=0, default=10),
    minReadySeconds=int32(minimum=0),
    persistentVolumeClaimRetentionPolicy=obj(whenDeleted=string(default="Retain"), whenScaled=string(default="Retain")),
    ordinals=obj(start=int32(default=0)),
)
STATEFUL_SET_SPEC["properties"]["persistentVolumeClaimRetentionPolicy"]["default"] = {}
STATEFUL_SET_STATUS = obj(
    observedGeneration=int64(),
    replicas=int32(default=0),
    readyReplicas=int32(),
    currentReplicas=int32(),
    updatedReplicas=int32(),
    currentRevision=string(),
    updateRevision=string(),
    collisionCount=int32(),
    conditions=CONDITIONS,
    availableReplicas=int32(default=0),
)

DAEMON_SET_SPEC = obj(
    "selector",
    "template",
    selector=LABEL_SELECTOR,
    template=POD_TEMPLATE,
    updateStrategy=obj(type=enum("RollingUpdate", "OnDelete", default="RollingUpdate"), rollingUpdate=ROLLING),
    minReadySeconds=int32(minimum=0),
    revisionHistoryLimit=int32(minimum=0, default=10),
)

JOB_SPEC = obj(
    "template",
    parallelism=int32(minimum=0, default=1),
    completions=int32(minimum=0),
    activeDeadlineSeconds=int64(minimum=0),
    podFailurePolicy=opened(),
    successPolicy=opened(),
    backoffLimit=int32(minimum=0, default=6),
    backoffLimitPerIndex=int32(),
    maxFailedIndexes=int32(),
    selector=LABEL_SELECTOR,
    manualSelector=boolean(),
    template=POD_TEMPLATE,
    ttlSecondsAfterFinished=int32(minimum=0),
    completionMode=enum("NonIndexed", "Indexed", default="NonIndexed"),
    suspend=boolean(default=False),
    podReplacementPolicy=enum("TerminatingOrFailed", "Failed", default="TerminatingOrFailed"),
    managedBy=string(),
)
JOB_STATUS = obj(
    conditions=CONDITIONS,
    startTime=time(),
    completionTime=time(),
    active=int32(),
    succeeded=int32(),
    failed=int32(),
    terminating=int32(),
    completedIndexes=string(),
    failedIndexes=string(),
    uncountedTerminatedPods=opened(),
    ready=int32(),
)
CRON_JOB_SPEC = obj(
    "schedule",
    "jobTemplate",
    schedule=string(),
    timeZone=string(),
    startingDeadlineSeconds=int64(),
    concurrencyPolicy=enum("Allow", "Forbid", "Replace", default="Allow"),
    suspend=boolean(default=False),
    jobTemplate=obj("spec", metadata=OBJECT_META, spec=JOB_SPEC),
    successfulJobsHistoryLimit=int32(default=3),
    failedJobsHistoryLimit=int32(default=1),
)


def _workload(group: str, name: str, spec: Schema, status: Schema) -> Schema:
    return kind(group, "v1", name, spec=spec, status=optional(status, default={}))


SCALE = kind(
    "autoscaling",
    "v1",
    "Scale",
    spec=obj(replicas=int32(minimum=0)),
    status=obj(replicas=int32(), selector=string()),
)

KINDS = [
    SCALE,
    _workload("apps", "Deployment", DEPLOYMENT_SPEC, DEPLOYMENT_STATUS),
    _workload("apps", "ReplicaSet", REPLICA_SET_SPEC, REPLICA_SET_STATUS),
    _workload("apps", "StatefulSet", STATEFUL_SET_SPEC, STATEFUL_SET_STATUS),
    _workload("apps", "DaemonSet", DAEMON_SET_SPEC, opened()),
    kind("apps", "v1", "ControllerRevision", data=opened(), revision=int64(default=0)),
    _workload("batch", "Job", JOB_SPEC, JOB_STATUS),
    _workload("batch", "CronJob", CRON_JOB_SPEC, opened()),
]
