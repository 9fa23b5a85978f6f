"""Schemas of disruption budgets and network policies, which are stored and shown but have no effect here."""

from keda_py.schema.builders import array, enum, int32, int64, int_or_string, obj, string
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, kind

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
    kind("policy", "v1", "PodDisruptionBudget", spec=BUDGET_SPEC, status=BUDGET_STATUS),
    kind("networking.k8s.io", "v1", "NetworkPolicy", spec=POLICY_SPEC),
]
