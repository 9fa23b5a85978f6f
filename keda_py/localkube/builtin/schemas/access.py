"""Schemas of RBAC, authentication, authorisation and policies.

Disruption budgets and network policies are stored and shown, but have no effect here.
"""

from keda_py.schema.builders import (
    array,
    atomic,
    boolean,
    enum,
    int32,
    int64,
    int_or_string,
    mapping,
    obj,
    opened,
    string,
)
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, kind

RULE = obj(
    "verbs",
    verbs=array(string()),
    apiGroups=array(string()),
    resources=array(string()),
    resourceNames=array(string()),
    nonResourceURLs=array(string()),
)
RULES = array(RULE, nullable=True, default=None)
SUBJECT = atomic(obj("kind", "name", kind=string(), apiGroup=string(), name=string(), namespace=string()))
ROLE_REF = atomic(obj("kind", "name", apiGroup=string(), kind=string(), name=string()))
AGGREGATION = obj(clusterRoleSelectors=array(LABEL_SELECTOR))

RESOURCE_ATTRIBUTES = obj(
    namespace=string(),
    verb=string(),
    group=string(),
    version=string(),
    resource=string(),
    subresource=string(),
    name=string(),
    fieldSelector=opened(),
    labelSelector=opened(),
)
PATH_ATTRIBUTES = obj(path=string(), verb=string())
SELF_SPEC = obj(resourceAttributes=RESOURCE_ATTRIBUTES, nonResourceAttributes=PATH_ATTRIBUTES)
SUBJECT_SPEC = obj(
    resourceAttributes=RESOURCE_ATTRIBUTES,
    nonResourceAttributes=PATH_ATTRIBUTES,
    user=string(),
    groups=array(string()),
    extra=mapping(array(string())),
    uid=string(),
)
VERDICT = obj(allowed=boolean(), denied=boolean(), reason=string(), evaluationError=string())

_RBAC = "rbac.authorization.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"

BUDGET_SPEC = obj(
    minAvailable=int_or_string(),
    maxUnavailable=int_or_string(),
    selector=LABEL_SELECTOR,
    unhealthyPodEvictionPolicy=enum("IfHealthyBudget", "AlwaysAllow"),
)
BUDGET_STATUS = obj(
    conditions=CONDITIONS,
    observedGeneration=int64(),
    disruptionsAllowed=int32(),
    currentHealthy=int32(),
    desiredHealthy=int32(),
    expectedPods=int32(),
)

POLICY_PORT = obj(protocol=enum("TCP", "UDP", "SCTP", default="TCP"), port=int_or_string(), endPort=int32())
POLICY_PEER = obj(
    podSelector=LABEL_SELECTOR,
    namespaceSelector=LABEL_SELECTOR,
    ipBlock=obj("cidr", cidr=string(), **{"except": array(string())}),
)
POLICY_SPEC = obj(
    podSelector=LABEL_SELECTOR,
    policyTypes=array(enum("Ingress", "Egress")),
    ingress=array(obj(ports=array(POLICY_PORT), **{"from": array(POLICY_PEER)})),
    egress=array(obj(ports=array(POLICY_PORT), to=array(POLICY_PEER))),
)

KINDS = [
    kind(_RBAC, "v1", "Role", rules=RULES),
    kind(_RBAC, "v1", "ClusterRole", rules=RULES, aggregationRule=AGGREGATION),
    kind(_RBAC, "v1", "RoleBinding", subjects=array(SUBJECT), roleRef=ROLE_REF),
    kind(_RBAC, "v1", "ClusterRoleBinding", subjects=array(SUBJECT), roleRef=ROLE_REF),
    kind(_AUTHORIZATION, "v1", "SubjectAccessReview", spec=SUBJECT_SPEC, status=VERDICT),
    kind(_AUTHORIZATION, "v1", "SelfSubjectAccessReview", spec=SELF_SPEC, status=VERDICT),
    kind(_AUTHORIZATION, "v1", "LocalSubjectAccessReview", spec=SUBJECT_SPEC, status=VERDICT),
    kind(_AUTHORIZATION, "v1", "SelfSubjectRulesReview", spec=obj(namespace=string()), status=opened()),
    kind(
        "authentication.k8s.io",
        "v1",
        "TokenReview",
        spec=obj(token=string(), audiences=array(string())),
        status=opened(),
    ),
    kind("authentication.k8s.io", "v1", "SelfSubjectReview", status=opened()),
    kind("policy", "v1", "PodDisruptionBudget", spec=BUDGET_SPEC, status=BUDGET_STATUS),
    kind("networking.k8s.io", "v1", "NetworkPolicy", spec=POLICY_SPEC),
]
