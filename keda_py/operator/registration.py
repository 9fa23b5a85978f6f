"""`--register URL`: tell the cluster's API server where to find a process that runs outside of it.

Writes the Service (type ExternalName, so that no kube-proxy is needed) and the APIService of external.metrics.k8s.io,
and the ValidatingWebhookConfiguration. Inside a cluster the chart does this.
"""

import logging
from base64 import b64encode
from urllib.parse import urlsplit

from keda_py.errors import AlreadyExists, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    API_SERVICES,
    NAMESPACES,
    SERVICES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
    ObjectPath,
    Resource,
)
from keda_py.metrics.discovery import APIS, Api
from keda_py.operator.admission import WEBHOOKS, Webhook

log = logging.getLogger(__name__)


async def ensure_namespace(client: KubeClient, name: str) -> None:
    """The namespace of Service and certificates exists. Raises KubeError."""
    await _ensure(client, NAMESPACES, {"metadata": {"name": name}})


async def register_metrics(client: KubeClient, *, namespace: str, service: str, url: str, ca: bytes) -> None:
    """Make the aggregator ask `url` for external metrics and trust `ca` (PEM). Raises KubeError."""
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 443
    await _ensure(client, SERVICES, _service(namespace, service, host, port))
    for api in APIS:
        await _ensure(client, API_SERVICES, _api_service(api, service=(namespace, service), port=port, ca=ca))
    log.info("registered external metrics", extra={"url": url, "service": f"{namespace}/{service}"})


async def register_webhook(client: KubeClient, *, name: str, url: str, ca: bytes) -> None:
    """Make the API server ask `url` (https://HOST:PORT) before it stores our kinds. Raises KubeError."""
    bundle = b64encode(ca).decode()
    webhooks = [_webhook(webhook, f"{url}{webhook.path}", bundle) for webhook in WEBHOOKS]
    await _ensure(client, VALIDATING_WEBHOOK_CONFIGURATIONS, {"metadata": {"name": name}, "webhooks": webhooks})
    log.info("registered admission webhook", extra={"url": url, "configuration": name})


async def _ensure(client: KubeClient, resource: Resource, body: Obj) -> None:
    meta = body["metadata"]
    path: ObjectPath = resource.named(meta.get("namespace", ""), meta["name"])
    wanted = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
    try:
        await client.get(path)
    except NotFound:
        try:
            await client.create(resource, wanted)
        except AlreadyExists:
            await client.patch(path, body)
    else:
        if body.keys() > {"metadata"}:
            await client.patch(path, body)


def _service(namespace: str, name: str, host: str, port: int) -> Obj:
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    spec = {"type": "ExternalName", "externalName": host, "ports": ports}
    return {"metadata": {"namespace": namespace, "name": name}, "spec": spec}


def _api_service(api: Api, *, service: tuple[str, str], port: int, ca: bytes) -> Obj:
    return {
        "metadata": {"name": api.service_name},
        "spec": {
            "group": api.group,
            "version": api.version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": service[0], "name": service[1], "port": port},
            "caBundle": b64encode(ca).decode(),
        },
    }


def _webhook(webhook: Webhook, url: str, bundle: str) -> Obj:
    rule = {
        "apiGroups": [webhook.group],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [webhook.plural],
        "scope": "*",
    }
    return {
        "name": webhook.name,
        "clientConfig": {"url": url, "caBundle": bundle},
        "rules": [rule],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
    }
