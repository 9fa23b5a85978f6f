"""Schemas of core/v1 Pod and of the pod template of workloads."""

from keda_py.schema.builders import (
    anything,
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
)
from keda_py.schema.meta import CONDITIONS, LABEL_SELECTOR, OBJECT_META, kind

LOCAL_REFERENCE = atomic(obj(name=string(default="")))
KEY_REFERENCE = atomic(obj("key", name=string(default=""), key=string(), optional=boolean()))

RESOURCES = obj(
    limits=mapping(quantity()),
    requests=mapping(quantity()),
    claims=keyed("name", obj("name", name=string(), request=string())),
)

ENV_VAR = obj(
    "name",
    name=string(),
    value=string(),
    valueFrom=obj(
        configMapKeyRef=KEY_REFERENCE,
        secretKeyRef=KEY_REFERENCE,
        fieldRef=atomic(obj("fieldPath", apiVersion=string(default="v1"), fieldPath=string())),
        resourceFieldRef=atomic(
            obj("resource", containerName=string(), resource=string(), divisor=quantity(default="0"))
        ),
    ),
)

SOURCE_REFERENCE = obj(name=string(default=""), optional=boolean())
ENV_FROM = obj(prefix=string(), configMapRef=SOURCE_REFERENCE, secretRef=SOURCE_REFERENCE)

PORT = obj(
    "containerPort",
    name=string(),
    containerPort=int32(minimum=1, maximum=65535),
    hostPort=int32(),
    hostIP=string(),
    protocol=enum("TCP", "UDP", "SCTP", default="TCP"),
)

HTTP_GET = obj(
    "port",
    path=string(default="/"),
    port=int_or_string(),
    host=string(),
    scheme=enum("HTTP", "HTTPS", default="HTTP"),
    httpHeaders=array(obj("name", "value", name=string(), value=string())),
)
EXEC = obj(command=array(string()))
TCP_SOCKET = obj("port", port=int_or_string(), host=string())
GRPC = obj("port", port=int32(), service=string(default=""))

PROBE = obj(
    exec=EXEC,
    httpGet=HTTP_GET,
    tcpSocket=TCP_SOCKET,
    grpc=GRPC,
    initialDelaySeconds=int32(minimum=0),
    timeoutSeconds=int32(default=1),
    periodSeconds=int32(default=10),
    successThreshold=int32(default=1),
    failureThreshold=int32(default=3),
    terminationGracePeriodSeconds=int64(),
)
HOOK = obj(exec=EXEC, httpGet=HTTP_GET, tcpSocket=TCP_SOCKET, sleep=obj("seconds", seconds=int64()))

VOLUME_MOUNT = obj(
    "name",
    "mountPath",
    name=string(),
    readOnly=boolean(),
    recursiveReadOnly=string(),
    mountPath=string(),
    subPath=string(),
    subPathExpr=string(),
    mountPropagation=string(),
)

CONTAINER = obj(
    "name",
    name=string(),
    image=string(),
    command=array(string()),
    args=array(string()),
    workingDir=string(),
    ports=keyed(["containerPort", "protocol"], PORT),
    envFrom=array(ENV_FROM),
    env=keyed("name", ENV_VAR),
    resources=optional(RESOURCES, default={}),
    resizePolicy=array(opened()),
    restartPolicy=string(),
    volumeMounts=keyed("mountPath", VOLUME_MOUNT),
    volumeDevices=keyed("devicePath", opened()),
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    startupProbe=PROBE,
    lifecycle=obj(postStart=HOOK, preStop=HOOK, stopSignal=string()),
    terminationMessagePath=string(default="/dev/termination-log"),
    terminationMessagePolicy=enum("File", "FallbackToLogsOnError", default="File"),
    imagePullPolicy=enum("Always", "IfNotPresent", "Never"),
    securityContext=opened(),
    stdin=boolean(),
    stdinOnce=boolean(),
    tty=boolean(),
)

ITEMS = array(obj("key", "path", key=string(), path=string(), mode=int32()))
_KNOWN_VOLUMES = obj(
    "name",
    name=string(),
    emptyDir=obj(medium=string(), sizeLimit=quantity()),
    configMap=obj(name=string(default=""), items=ITEMS, defaultMode=int32(default=420), optional=boolean()),
    secret=obj(secretName=string(), items=ITEMS, defaultMode=int32(default=420), optional=boolean()),
    hostPath=obj("path", path=string(), type=string(default="")),
    persistentVolumeClaim=obj("claimName", claimName=string(), readOnly=boolean()),
    projected=obj(sources=array(opened()), defaultMode=int32(default=420)),
    downwardAPI=obj(items=array(opened()), defaultMode=int32(default=420)),
)

# All other volume sources are accepted unchecked.
VOLUME = optional(_KNOWN_VOLUMES, **{"x-kubernetes-preserve-unknown-fields": True})

TOLERATION = obj(key=string(), operator=string(), value=string(), effect=string(), tolerationSeconds=int64())
SPREAD = obj(
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    maxSkew=int32(),
    topologyKey=string(),
    whenUnsatisfiable=string(),
    labelSelector=LABEL_SELECTOR,
    minDomains=int32(),
    nodeAffinityPolicy=string(),
    nodeTaintsPolicy=string(),
    matchLabelKeys=array(string()),
)


POD_SPEC = obj(
    "containers",
    volumes=keyed("name", VOLUME),
    initContainers=keyed("name", CONTAINER),
    containers=keyed("name", CONTAINER),
    ephemeralContainers=keyed("name", opened()),
    restartPolicy=enum("Always", "OnFailure", "Never", default="Always"),
    terminationGracePeriodSeconds=int64(default=30),
    activeDeadlineSeconds=int64(),
    dnsPolicy=string(default="ClusterFirst"),
    nodeSelector=atomic(mapping()),
    serviceAccountName=string(),
    serviceAccount=string(),
    automountServiceAccountToken=boolean(),
    nodeName=string(),
    hostNetwork=boolean(),
    hostPID=boolean(),
    hostIPC=boolean(),
    shareProcessNamespace=boolean(),
    securityContext=opened(default={}),
    imagePullSecrets=keyed("name", LOCAL_REFERENCE),
    hostname=string(),
    subdomain=string(),
    affinity=opened(),
    schedulerName=string(default="default-scheduler"),
    tolerations=array(TOLERATION),
    hostAliases=keyed("ip", obj("ip", ip=string(), hostnames=array(string()))),
    priorityClassName=string(),
    priority=int32(),
    dnsConfig=opened(),
    readinessGates=array(obj("conditionType", conditionType=string())),
    runtimeClassName=string(),
    enableServiceLinks=boolean(),
    preemptionPolicy=string(),
    overhead=mapping(quantity()),
    topologySpreadConstraints=keyed(["topologyKey", "whenUnsatisfiable"], SPREAD),
    setHostnameAsFQDN=boolean(),
    os=opened(),
    hostUsers=boolean(),
    schedulingGates=keyed("name", obj("name", name=string())),
    resourceClaims=keyed("name", opened()),
    resources=RESOURCES,
    hostnameOverride=string(),
    workloadRef=opened(),
)

POD_TEMPLATE = obj("spec", metadata=OBJECT_META, spec=POD_SPEC)

CONTAINER_STATUS = obj(
    name=string(),
    state=opened(),
    lastState=opened(default={}),
    ready=boolean(default=False),
    restartCount=int32(default=0),
    image=string(default=""),
    imageID=string(default=""),
    containerID=string(),
    started=boolean(),
    allocatedResources=mapping(quantity()),
    resources=RESOURCES,
    volumeMounts=array(opened()),
    user=opened(),
    allocatedResourcesStatus=array(anything()),
    stopSignal=string(),
)

POD_STATUS = obj(
    observedGeneration=int64(),
    phase=string(),
    conditions=CONDITIONS,
    message=string(),
    reason=string(),
    nominatedNodeName=string(),
    hostIP=string(),
    hostIPs=array(obj(ip=string())),
    podIP=string(),
    podIPs=array(obj(ip=string())),
    startTime=time(),
    initContainerStatuses=array(CONTAINER_STATUS),
    containerStatuses=array(CONTAINER_STATUS),
    ephemeralContainerStatuses=array(CONTAINER_STATUS),
    qosClass=string(),
    resize=string(),
    resourceClaimStatuses=array(opened()),
    extendedResourceClaimStatus=opened(),
    allocatedResources=mapping(quantity()),
    resources=RESOURCES,
)

KINDS = [
    kind("", "v1", "Pod", spec=POD_SPEC, status=optional(POD_STATUS, default={})),
    kind("", "v1", "PodTemplate", template=POD_TEMPLATE),
    kind(
        "",
        "v1",
        "ReplicationController",
        spec=obj(
            replicas=int32(minimum=0, default=1),
            minReadySeconds=int32(),
            selector=atomic(mapping()),
            template=POD_TEMPLATE,
        ),
        status=opened(default={}),
    ),
    kind("", "v1", "Binding", target=opened()),
]
