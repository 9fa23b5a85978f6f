"""Schemas of API extensions: CustomResourceDefinitions, APIServices, admission webhooks."""

from keda_py.schema.builders import (
    Schema,
    array,
    boolean,
    enum,
    int32,
    int64,
    keyed,
    obj,
    opened,
    optional,
    string,
)
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, kind

CRD_NAMES = obj(
    "plural",
    "kind",
    plural=string(),
    singular=string(),
    shortNames=array(string()),
    kind=string(),
    listKind=string(),
    categories=array(string()),
)
CRD_COLUMN = obj(
    "name",
    "type",
    "jsonPath",
    name=string(),
    type=string(),
    format=string(),
    description=string(),
    priority=int32(),
    jsonPath=string(),
)
CRD_SUBRESOURCES = obj(
    status=opened(),
    scale=obj(
        "specReplicasPath",
        "statusReplicasPath",
        specReplicasPath=string(),
        statusReplicasPath=string(),
        labelSelectorPath=string(),
    ),
)
CRD_VERSION = obj(
    "name",
    "served",
    "storage",
    name=string(),
    served=boolean(),
    storage=boolean(),
    deprecated=boolean(),
    deprecationWarning=string(),
    schema=obj(openAPIV3Schema=opened()),
    subresources=CRD_SUBRESOURCES,
    additionalPrinterColumns=array(CRD_COLUMN),
    selectableFields=array(obj("jsonPath", jsonPath=string())),
)
CRD_SPEC = obj(
    "group",
    "names",
    "scope",
    "versions",
    group=string(),
    names=CRD_NAMES,
    scope=enum("Cluster", "Namespaced"),
    versions=array(CRD_VERSION),
    conversion=optional(opened(), default={"strategy": "None"}),
    preserveUnknownFields=boolean(),
)
CRD_STATUS = obj(
    conditions=CONDITIONS, acceptedNames=CRD_NAMES, storedVersions=array(string()), observedGeneration=int64()
)

SERVICE_REFERENCE = obj(namespace=string(), name=string(), path=string(), port=int32(default=443))
API_SERVICE_SPEC = obj(
    "groupPriorityMinimum",
    "versionPriority",
    service=SERVICE_REFERENCE,
    group=string(),
    version=string(),
    insecureSkipTLSVerify=boolean(),
    caBundle=string(format="byte"),
    groupPriorityMinimum=int32(),
    versionPriority=int32(),
)
API_SERVICE_STATUS = obj(conditions=CONDITIONS)

WEBHOOK_RULE = obj(
    operations=array(string()),
    apiGroups=array(string()),
    apiVersions=array(string()),
    resources=array(string()),
    scope=string(default="*"),
)


def _webhooks(**more: Schema) -> Schema:
    webhook = obj(
        "name",
        "clientConfig",
        "sideEffects",
        "admissionReviewVersions",
        name=string(),
        clientConfig=obj(url=string(), service=SERVICE_REFERENCE, caBundle=string(format="byte")),
        rules=array(WEBHOOK_RULE),
        failurePolicy=enum("Ignore", "Fail", default="Fail"),
        matchPolicy=enum("Exact", "Equivalent", default="Equivalent"),
        namespaceSelector=optional(LABEL_SELECTOR, default={}),
        objectSelector=optional(LABEL_SELECTOR, default={}),
        sideEffects=enum("None", "NoneOnDryRun", "Some", "Unknown"),
        timeoutSeconds=int32(minimum=1, maximum=30, default=10),
        admissionReviewVersions=array(string()),
        matchConditions=keyed("name", obj("name", "expression", name=string(), expression=string())),
        **more,
    )
    return keyed("name", webhook)


KINDS = [
    kind(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        spec=CRD_SPEC,
        status=CRD_STATUS,
    ),
    kind(
        "apiregistration.k8s.io",
        "v1",
        "APIService",
        spec=API_SERVICE_SPEC,
        status=optional(API_SERVICE_STATUS, default={}),
    ),
    kind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", webhooks=_webhooks()),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        webhooks=_webhooks(reinvocationPolicy=enum("Never", "IfNeeded", default="Never")),
    ),
]
