"""Printer columns of the kinds around workloads: configuration, services, access, events, extensions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from keda_py.localkube.model.durations import UNKNOWN, age
from keda_py.localkube.printing.printers import (
    AGE,
    NAME,
    NONE,
    Printer,
    created,
    labels_text,
    number,
    printer,
    spec_of,
    status_of,
    text,
)
from keda_py.schema.resources import Obj, PrinterColumn


def _namespace(namespace: Obj, now: datetime) -> Sequence[Any]:
    return [status_of(namespace).get("phase", ""), created(namespace, now)]


def _config_map(config_map: Obj, now: datetime) -> Sequence[Any]:
    entries = len(config_map.get("data") or {}) + len(config_map.get("binaryData") or {})
    return [entries, created(config_map, now)]


def _secret(secret: Obj, now: datetime) -> Sequence[Any]:
    return [secret.get("type", ""), len(secret.get("data") or {}), created(secret, now)]


def _service_account(account: Obj, now: datetime) -> Sequence[Any]:
    return [len(account.get("secrets") or []), created(account, now)]


def _service(service: Obj, now: datetime) -> Sequence[Any]:
    spec = spec_of(service)
    address = spec.get("clusterIP") or NONE
    external = spec.get("externalName") if spec.get("type") == "ExternalName" else None
    ports = ",".join(_service_port(port) for port in spec.get("ports") or []) or NONE
    outside = external or ",".join(spec.get("externalIPs") or []) or NONE
    kind = spec.get("type", "ClusterIP")
    return [kind, address, outside, ports, created(service, now), labels_text(spec.get("selector"))]


def _service_port(port: Obj) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _endpoints(endpoints: Obj, now: datetime) -> Sequence[Any]:
    pairs = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in endpoints.get("subsets") or []
        for port in subset.get("ports") or []
        for address in subset.get("addresses") or []
    ]
    return [_listed(pairs), created(endpoints, now)]


def _endpoint_slice(endpoint_slice: Obj, now: datetime) -> Sequence[Any]:
    ports = [str(port["port"]) if port.get("port") else "*" for port in endpoint_slice.get("ports") or []]
    addresses = [a for endpoint in endpoint_slice.get("endpoints") or [] for a in endpoint.get("addresses") or []]
    unset = "<unset>"
    kind = endpoint_slice.get("addressType", "")
    return [kind, _listed(ports, unset), _listed(addresses, unset), created(endpoint_slice, now)]


def _listed(items: Sequence[str], nothing: str = NONE) -> str:
    """Join up to three items, and count the rest."""
    more = f" + {len(items) - 3} more..." if len(items) > 3 else ""
    return ",".join(items[:3]) + more if items else nothing


def _node(node: Obj, now: datetime) -> Sequence[Any]:
    conditions = {c.get("type"): c.get("status") for c in status_of(node).get("conditions") or []}
    ready = {"True": "Ready", "False": "NotReady"}.get(str(conditions.get("Ready")), "Unknown")
    state = f"{ready},SchedulingDisabled" if spec_of(node).get("unschedulable") else ready
    prefix = "node-role.kubernetes.io/"
    roles = sorted(k.removeprefix(prefix) for k in node["metadata"].get("labels") or {} if k.startswith(prefix))
    version = (status_of(node).get("nodeInfo") or {}).get("kubeletVersion", "")
    return [state, ",".join(roles) or NONE, created(node, now), version]


def _event(event: Obj, now: datetime) -> Sequence[Any]:
    """The cells of a core Event; newer writers set eventTime and series instead of timestamps and count."""
    # Writers of events.k8s.io leave the old timestamps empty.
    first = age(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = age(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    count = event.get("count") or 1
    if series := event.get("series"):
        last, count = age(series.get("lastObservedTime"), now), series.get("count", count)
    involved = event.get("involvedObject") or {}
    target = "/".join(filter(None, (str(involved.get("kind", "")).lower(), involved.get("name"))))
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        target,
        involved.get("fieldPath", ""),
        _event_source(event),
        str(event.get("message", "")).strip(),
        first,
        count,
        event["metadata"]["name"],
    ]


def _event_source(event: Obj) -> str:
    source = event.get("source") or {}
    if source.get("component"):
        parts = (source["component"], source.get("host"))
    else:
        parts = (event.get("reportingComponent"), event.get("reportingInstance"))
    return ", ".join(part for part in parts if part)


def _lease(lease: Obj, now: datetime) -> Sequence[Any]:
    return [spec_of(lease).get("holderIdentity", ""), created(lease, now)]


def _binding(binding: Obj, now: datetime) -> Sequence[Any]:
    role = binding.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in binding.get("subjects") or []:
        name = "/".join(filter(None, (subject.get("namespace"), subject.get("name"))))
        subjects.setdefault(subject.get("kind", ""), []).append(name)
    names = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [f"{role.get('kind')}/{role.get('name')}", created(binding, now), *names]


def _api_service(api_service: Obj, now: datetime) -> Sequence[Any]:
    service = spec_of(api_service).get("service")
    name = f"{service.get('namespace')}/{service.get('name')}" if service else "Local"
    conditions = status_of(api_service).get("conditions") or []
    available = next((c for c in conditions if c.get("type") == "Available"), None)
    if available is None:
        state = UNKNOWN
    else:
        reason = f" ({available['reason']})" if available.get("status") != "True" and available.get("reason") else ""
        state = f"{available.get('status')}{reason}"
    return [name, state, created(api_service, now)]


def _webhooks(configuration: Obj, now: datetime) -> Sequence[Any]:
    return [len(configuration.get("webhooks") or []), created(configuration, now)]


_EVENT_COLUMNS = (
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    text("Subobject", wide=True),
    text("Source", wide=True),
    text("Message"),
    text("First Seen", wide=True),
    text("Count", wide=True),
    PrinterColumn(name=NAME.name, type=NAME.type, format=NAME.format, priority=1),
)
_EVENTS = Printer(columns=_EVENT_COLUMNS, cells=_event)
_BINDINGS = printer(
    (text("Role"), AGE, text("Users", wide=True), text("Groups", wide=True), text("ServiceAccounts", wide=True)),
    _binding,
)
_WEBHOOKS = printer((number("Webhooks"), AGE), _webhooks)

CLUSTER_PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Namespace"): printer((text("Status"), AGE), _namespace),
    ("", "ConfigMap"): printer((text("Data"), AGE), _config_map),
    ("", "Secret"): printer((text("Type"), text("Data"), AGE), _secret),
    ("", "ServiceAccount"): printer((text("Secrets"), AGE), _service_account),
    ("", "Service"): printer(
        (text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, text("Selector", wide=True)),
        _service,
    ),
    ("", "Endpoints"): printer((text("Endpoints"), AGE), _endpoints),
    ("", "Node"): printer((text("Status"), text("Roles"), AGE, text("Version")), _node),
    ("", "Event"): _EVENTS,
    ("events.k8s.io", "Event"): _EVENTS,
    ("discovery.k8s.io", "EndpointSlice"): printer(
        (text("AddressType"), text("Ports"), text("Endpoints"), AGE), _endpoint_slice
    ),
    ("coordination.k8s.io", "Lease"): printer((text("Holder"), AGE), _lease),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDINGS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDINGS,
    ("apiregistration.k8s.io", "APIService"): printer((text("Service"), text("Available"), AGE), _api_service),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
}
