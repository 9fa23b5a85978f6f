"""Admission webhooks that refuse what waking needs: they fail closed, and no server answers for them.

Pods that are created and `/scale` that is updated are what a wake sends. A webhook whose own server is a member is
worse: once asleep it refuses its own pods.
"""

from collections.abc import Iterator, Mapping, Sequence

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, namespace_of, text_at, texts_at, value_at
from keda_py.core.values.selectors import LabelSelector
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.disruption_budgets import is_selected
from keda_py.doctor.members import Member
from keda_py.doctor.scaling import EXCLUDED
from keda_py.kube.resources import (
    ENDPOINT_SLICES,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    NAMESPACES,
    SERVICES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
)
from keda_py.migration.installation import Installation

CONFIGURATIONS = (VALIDATING_WEBHOOK_CONFIGURATIONS, MUTATING_WEBHOOK_CONFIGURATIONS)
SERVICE_NAME = "kubernetes.io/service-name"
ServiceName = tuple[str, str]
_SCALED = ("deployments/scale", "statefulsets/scale", "deployments/*", "statefulsets/*", "*/scale", "*/*")
_PODS = ("pods", "*", "*/*")


def services_of(configurations: Sequence[Obj]) -> set[ServiceName]:
    """Return namespace and name of the Services behind webhooks that could refuse a wake."""
    return {
        service_of(webhook)
        for configuration in configurations
        for webhook in maps_at(configuration, "webhooks")
        if _refuses(webhook) and all(service_of(webhook))
    }


def service_of(webhook: Obj) -> ServiceName:
    """Return namespace and name of its Service; empty texts for one that is called by a URL."""
    service = map_at(webhook, "clientConfig", "service")
    return text_at(service, "namespace"), text_at(service, "name")


def check_webhooks(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check each configuration; a webhook that is called by a URL cannot be judged from here."""
    labels = {name_of(one): texts_at(one, "metadata", "labels") for one in installation.of(NAMESPACES)}
    for resource in CONFIGURATIONS:
        for configuration in installation.of(resource):
            for webhook in maps_at(configuration, "webhooks"):
                if _refuses(webhook) and all(service_of(webhook)):
                    asked = [member for member in members if _is_in_scope(webhook, member, labels)]
                    yield from _check_webhook(configuration, webhook, installation, asked, members) if asked else ()


def _refuses(webhook: Obj) -> bool:
    """Whether it fails closed, which is the default, for pods or counts."""
    closed = text_at(webhook, "failurePolicy") in ("", "Fail")
    return closed and any(_is_asked(rule) for rule in maps_at(webhook, "rules"))


def _is_asked(rule: Obj) -> bool:
    groups, resources, operations = (list_at(rule, part) for part in ("apiGroups", "resources", "operations"))
    creates = ("" in groups or "*" in groups) and any(one in _PODS for one in resources)
    scales = ("apps" in groups or "*" in groups) and any(one in _SCALED for one in resources)
    return (creates and any(one in ("CREATE", "*") for one in operations)) or (
        scales and any(one in ("UPDATE", "*") for one in operations)
    )


def _check_webhook(
    configuration: Obj,
    webhook: Obj,
    installation: Installation,
    asked: Sequence[Member],
    everyone: Sequence[Member],
) -> Iterator[Diagnosis]:
    namespace, name = service_of(webhook)
    called = f"webhook {text_at(webhook, 'name')} fails closed (failurePolicy Fail)"
    sleeping = [member for member in everyone if _serves(member, namespace, name, installation)]
    for server in sleeping:
        message = f"serves Service {namespace}/{name}, and {called}: while it sleeps, no member can wake"
        yield diagnose(server.live, message, asked, lines=EXCLUDED, remedy=_outside(configuration))
    if sleeping:
        return
    if ENDPOINT_SLICES.kind in installation.unread:
        message = f"{called}, and whether Service {namespace}/{name} has a ready endpoint could not be read"
        yield diagnose(configuration, message, asked, urgency=Urgency.UNKNOWN)
    elif not _has_endpoint(namespace, name, installation):
        message = f"{called}, and Service {namespace}/{name} has no ready endpoint: no member can wake"
        lines = {"webhooks": [{"name": text_at(webhook, "name"), "failurePolicy": "Ignore"}]}
        yield diagnose(configuration, message, asked, lines=lines, remedy="or start its server")


def _outside(configuration: Obj) -> str:
    return f"or let {configuration.get('kind')} {name_of(configuration)} leave out its namespace by a namespaceSelector"


def _is_in_scope(webhook: Obj, member: Member, labels: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether both selectors take the member's pods. A namespace whose labels are not known is taken."""
    known = labels.get(member.namespace)
    if known is not None:
        of_namespace = {"kubernetes.io/metadata.name": member.namespace, **known}
        if not _selects(value_at(webhook, "namespaceSelector"), of_namespace):
            return False
    return _selects(value_at(webhook, "objectSelector"), texts_at(member.pod_template, "metadata", "labels"))


def _selects(selector: object, labels: Mapping[str, str]) -> bool:
    """Whether a selector of a webhook takes these labels; an empty one takes everything."""
    if not isinstance(selector, dict) or not selector:
        return True
    try:
        return LabelSelector.of(selector).matches({"metadata": {"labels": labels}})
    except (ValueError, KeyError, TypeError, AttributeError):
        return True


def _serves(member: Member, namespace: str, name: str, installation: Installation) -> bool:
    """Whether an Environment may put the only pods of the Service to sleep."""
    services = [one for one in installation.of(SERVICES) if (namespace_of(one), name_of(one)) == (namespace, name)]
    selector = texts_at(services[0], "spec", "selector") if services else {}
    return (
        bool(selector and member.environment)
        and member.namespace == namespace
        and is_selected(member, {"matchLabels": selector})
    )


def _has_endpoint(namespace: str, name: str, installation: Installation) -> bool:
    return any(
        value_at(endpoint, "conditions", "ready") is not False
        for found in installation.of(ENDPOINT_SLICES)
        if namespace_of(found) == namespace and texts_at(found, "metadata", "labels").get(SERVICE_NAME) == name
        for endpoint in maps_at(found, "endpoints")
    )
