"""Schemas of core/v1, apart from pods and Events, and of EndpointSlice."""

from keda_py.schema.builders import (
    array,
    atomic,
    boolean,
    enum,
    int32,
    int64,
    int_or_string,
    keyed,
    mapping,
    obj,
    opened,
    optional,
    quantity,
    string,
    time,
    unique,
)
from keda_py.schema.meta import CONDITIONS, OBJECT_REFERENCE, kind

SERVICE_PORT = obj(
    "port",
    name=string(),
    protocol=enum("TCP", "UDP", "SCTP", default="TCP"),
    appProtocol=string(),
    port=int32(minimum=1, maximum=65535),
    targetPort=int_or_string(),
    nodePort=int32(),
)
# Server-side apply identifies ports by number and protocol, strategic merge by number alone.
SERVICE_SPEC = obj(
    ports=keyed(["port", "protocol"], SERVICE_PORT),
    selector=atomic(mapping()),
    clusterIP=string(),
    clusterIPs=array(string()),
    type=enum("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", default="ClusterIP"),
    externalIPs=array(string()),
    sessionAffinity=enum("ClientIP", "None", default="None"),
    loadBalancerIP=string(),
    loadBalancerSourceRanges=array(string()),
    externalName=string(),
    externalTrafficPolicy=string(),
    healthCheckNodePort=int32(),
    publishNotReadyAddresses=boolean(),
    sessionAffinityConfig=opened(),
    ipFamilies=array(string()),
    ipFamilyPolicy=string(),
    allocateLoadBalancerNodePorts=boolean(),
    loadBalancerClass=string(),
    internalTrafficPolicy=enum("Cluster", "Local"),
    trafficDistribution=string(),
)
SERVICE_STATUS = obj(loadBalancer=opened(default={}), conditions=CONDITIONS)

BYTES = string(format="byte")

LIMIT = obj(
    "type",
    type=string(),
    max=mapping(quantity()),
    min=mapping(quantity()),
    default=mapping(quantity()),
    defaultRequest=mapping(quantity()),
    maxLimitRequestRatio=mapping(quantity()),
)

NODE_SPEC = obj(
    podCIDR=string(),
    podCIDRs=unique(string()),
    providerID=string(),
    unschedulable=boolean(),
    taints=array(opened()),
    configSource=opened(),
    externalID=string(),
)

ENDPOINT_ADDRESS = atomic(obj("ip", ip=string(), hostname=string(), nodeName=string(), targetRef=OBJECT_REFERENCE))
ENDPOINT_PORT = atomic(
    obj(
        "port",
        name=string(),
        port=int32(),
        protocol=enum("TCP", "UDP", "SCTP", default="TCP"),
        appProtocol=string(),
    )
)
ENDPOINT_SUBSET = obj(
    addresses=array(ENDPOINT_ADDRESS), notReadyAddresses=array(ENDPOINT_ADDRESS), ports=array(ENDPOINT_PORT)
)

SLICE_PORT = atomic(
    obj(
        name=string(default=""),
        protocol=enum("TCP", "UDP", "SCTP", default="TCP"),
        port=int32(),
        appProtocol=string(),
    )
)
SLICE_ENDPOINT = obj(
    "addresses",
    addresses=array(string()),
    conditions=obj(ready=boolean(), serving=boolean(), terminating=boolean()),
    hostname=string(),
    targetRef=OBJECT_REFERENCE,
    deprecatedTopology=mapping(),
    nodeName=string(),
    zone=string(),
    hints=opened(),
)

KINDS = [
    kind(
        "",
        "v1",
        "Namespace",
        spec=obj(finalizers=array(string())),
        status=obj(phase=string(), conditions=CONDITIONS),
    ),
    kind("", "v1", "Service", spec=SERVICE_SPEC, status=optional(SERVICE_STATUS, default={})),
    kind("", "v1", "ConfigMap", data=mapping(), binaryData=mapping(BYTES), immutable=boolean()),
    kind(
        "",
        "v1",
        "Secret",
        data=mapping(BYTES),
        stringData=mapping(),
        type=string(default="Opaque"),
        immutable=boolean(),
    ),
    kind(
        "",
        "v1",
        "ServiceAccount",
        secrets=keyed("name", OBJECT_REFERENCE),
        imagePullSecrets=array(obj(name=string(default=""))),
        automountServiceAccountToken=boolean(),
    ),
    kind("", "v1", "Node", spec=optional(NODE_SPEC, default={}), status=opened(default={})),
    kind("", "v1", "Endpoints", subsets=array(ENDPOINT_SUBSET)),
    kind("", "v1", "LimitRange", spec=obj("limits", limits=array(LIMIT))),
    kind("", "v1", "ResourceQuota", spec=opened(default={}), status=opened(default={})),
    kind("", "v1", "PersistentVolumeClaim", spec=opened(default={}), status=opened(default={})),
    kind("", "v1", "PersistentVolume", spec=opened(default={}), status=opened(default={})),
    kind(
        "discovery.k8s.io",
        "v1",
        "EndpointSlice",
        addressType=enum("IPv4", "IPv6", "FQDN"),
        endpoints=array(SLICE_ENDPOINT, nullable=True, default=None),
        ports=array(SLICE_PORT, nullable=True, default=None),
    ),
    kind(
        "authentication.k8s.io",
        "v1",
        "TokenRequest",
        spec=obj(audiences=array(string()), expirationSeconds=int64(default=3600), boundObjectRef=opened()),
        status=obj(token=string(), expirationTimestamp=time()),
    ),
]
