"""Schemas of meta/v1: the metadata of every object, and shapes that many kinds share."""

from keda_py.schema.builders import (
    Schema,
    anything,
    array,
    atomic,
    boolean,
    enum,
    int64,
    keyed,
    mapping,
    obj,
    string,
    time,
    unique,
)

OWNER_REFERENCE = atomic(
    obj(
        "apiVersion",
        "kind",
        "name",
        "uid",
        apiVersion=string(),
        kind=string(),
        name=string(),
        uid=string(),
        controller=boolean(),
        blockOwnerDeletion=boolean(),
    )
)

OBJECT_META = obj(
    name=string(),
    generateName=string(),
    namespace=string(),
    selfLink=string(),
    uid=string(),
    resourceVersion=string(),
    generation=int64(),
    creationTimestamp=time(),
    deletionTimestamp=time(),
    deletionGracePeriodSeconds=int64(),
    labels=mapping(),
    annotations=mapping(),
    ownerReferences=keyed("uid", OWNER_REFERENCE),
    finalizers=unique(string()),
    managedFields=array(anything()),
)

LABEL_SELECTOR = atomic(
    obj(
        matchLabels=mapping(),
        matchExpressions=array(
            obj(
                "key",
                "operator",
                key=string(),
                operator=enum("In", "NotIn", "Exists", "DoesNotExist"),
                values=array(string()),
            )
        ),
    )
)

CONDITIONS = keyed(
    "type",
    obj(
        type=string(),
        status=string(),
        reason=string(),
        message=string(),
        observedGeneration=int64(),
        lastTransitionTime=time(),
        lastUpdateTime=time(),
        lastProbeTime=time(nullable=True),
        lastHeartbeatTime=time(),
    ),
)

OBJECT_REFERENCE = atomic(
    obj(
        kind=string(),
        namespace=string(),
        name=string(),
        uid=string(),
        apiVersion=string(),
        resourceVersion=string(),
        fieldPath=string(),
    )
)


def kind(group: str, version: str, name: str, **fields: Schema) -> Schema:
    """Build the schema of a built-in kind: apiVersion, kind, metadata and these fields."""
    needs = ["spec"] if "required" in fields.get("spec", {}) else []
    root = obj(*needs, apiVersion=string(), kind=string(), metadata=OBJECT_META, **fields)
    return {**root, "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": name}]}
