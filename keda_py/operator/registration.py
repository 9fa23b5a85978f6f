"""`--register URL`: tell the cluster's API server where to find a process that runs outside of it.

Writes the Service (type ExternalName, so that no kube-proxy is needed) and the APIServices that lead to us, and the
ValidatingWebhookConfiguration; each is labelled as ours. At start they are taken over from any other owner, since the
flag says so. From then on they are kept right, made again when a client deletes them, and left to the client that
takes the label off. Inside a cluster the chart does this, and only caBundle is kept (`certificates.py`).
"""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from keda_py.errors import AlreadyExists, ConfigError, Conflict, NotFound, TooManyRequests, Unavailable
from keda_py.external_metrics.discovery import APIS, Api
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    API_SERVICES,
    NAMESPACES,
    SERVICES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
    Resource,
)
from keda_py.operator.admission.match_conditions import match_conditions
from keda_py.operator.admission.paths import WEBHOOKS, Webhook
from keda_py.serving.renewal.ca_bundles import CaBundleObject

OWNED = {"app.kubernetes.io/managed-by": "keda-py"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What leads to us. `url` and `webhook_url` are https://HOST[:PORT], the latter "" for no webhook.

    `has_conditions`: the API server knows matchConditions of webhooks.
    """

    namespace: str
    service: str
    url: str
    webhook_name: str
    webhook_url: str
    has_conditions: bool

    def objects(self, ca: bytes) -> list[tuple[Resource, Obj]]:
        """As they should be, in the order of their creation; `ca` is PEM."""
        address, bundle = urlsplit(self.url), b64encode(ca).decode()
        host, port = address.hostname or "", address.port or 443
        backend = {"namespace": self.namespace, "name": self.service, "port": port}
        found = [(SERVICES, _service(self.namespace, self.service, host, port))]
        found += [(API_SERVICES, _api_service(api, backend, bundle)) for api in APIS]
        if self.webhook_url:
            more = {"matchConditions": match_conditions()} if self.has_conditions else {}
            webhooks = [_webhook(webhook, f"{self.webhook_url}{webhook.path}", bundle) | more for webhook in WEBHOOKS]
            meta = {"name": self.webhook_name, "labels": OWNED}
            found.append((VALIDATING_WEBHOOK_CONFIGURATIONS, {"metadata": meta, "webhooks": webhooks}))
        return [(resource, _typed(resource, body)) for resource, body in found]

    def guarded(self, unchanged: set[Resource]) -> tuple[CaBundleObject, ...]:
        """Everything that is kept right from now on, but for the kinds that another component keeps."""
        return tuple(
            CaBundleObject(
                resource=resource,
                namespace=body["metadata"].get("namespace", ""),
                name=body["metadata"]["name"],
                correct=partial(correct, partial(self._object, number)),
            )
            for number, (resource, body) in enumerate(self.objects(b""))
            if resource not in unchanged
        )

    def _object(self, number: int, ca: bytes) -> Obj:
        return self.objects(ca)[number][1]

    async def write(self, client: KubeClient, ca: bytes) -> None:
        """Write all, whatever their owner. An API server that is not there yet is waited for. Raises KubeError."""

        async def write_all() -> None:
            for resource, body in self.objects(ca):
                await _ensure(client, resource, body)

        await _insist(write_all)
        log.info("registered", extra={"url": self.url, "webhook": self.webhook_url})


async def ensure_namespace(client: KubeClient, name: str) -> None:
    """The namespace of Service and certificates exists, sooner or later. Raises KubeError where that is refused."""

    async def ensure() -> None:
        try:
            await client.get(NAMESPACES.named("", name))
        except NotFound:
            with suppress(AlreadyExists):
                await client.create(NAMESPACES, _typed(NAMESPACES, {"metadata": {"name": name}}))

    await _insist(ensure)


async def _insist(write: Callable[[], Awaitable[None]]) -> None:
    """An API server that is away, busy or still starting is waited for; a refusal is raised."""
    backoff, waiting = Backoff(), False
    while True:
        try:
            return await write()
        except (Unavailable, TooManyRequests, Conflict) as error:
            log.log(logging.DEBUG if waiting else logging.WARNING, "cannot register yet", extra={"error": str(error)})
            waiting = True
        await asyncio.sleep(backoff.next())


def correct(wanted_for: Callable[[bytes], Obj], live: Obj | None, ca: bytes) -> Obj | None:
    """What to write: all of it if missing, what differs where it is ours; else it raises ConfigError."""
    wanted = wanted_for(ca)
    if live is None:
        return wanted
    labels = live["metadata"].get("labels") or {}
    if not labels.items() >= OWNED.items():
        key, value = next(iter(OWNED.items()))
        message = (
            f"metadata.labels[{key}] is {labels.get(key)!r}, so it belongs to another owner and the API server may not "
            f"ask us; set it to {value!r} to have it put right, or start without --register"
        )
        raise ConfigError(message, field="metadata.labels")
    return None if _matches(wanted, live) else _overlaid(live, wanted)


async def _ensure(client: KubeClient, resource: Resource, wanted: Obj) -> None:
    meta = wanted["metadata"]
    path = resource.named(meta.get("namespace", ""), meta["name"])
    try:
        live = await client.get(path)
    except NotFound:
        await client.create(resource, wanted)
    else:
        if not _matches(wanted, live):
            await client.update(path, _overlaid(live, wanted))


def _overlaid(live: Obj, wanted: Obj) -> Obj:
    """`wanted`, with the metadata of others and the version that was seen."""
    meta = live["metadata"]
    return live | wanted | {"metadata": meta | {"labels": (meta.get("labels") or {}) | OWNED}}


def _matches(wanted: Any, live: Any) -> bool:
    """Whether `live` is as wanted, defaults that the API server filled in aside; absent is as good as empty."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(_matches(value, live.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(live, list):
        return len(wanted) == len(live) and all(map(_matches, wanted, live))
    return bool(wanted == live or not (wanted or live))


def _typed(resource: Resource, body: Obj) -> Obj:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def _service(namespace: str, name: str, host: str, port: int) -> Obj:
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    spec = {"type": "ExternalName", "externalName": host, "ports": ports}
    return {"metadata": {"namespace": namespace, "name": name, "labels": OWNED}, "spec": spec}


def _api_service(api: Api, backend: Obj, bundle: str) -> Obj:
    return {
        "metadata": {"name": api.service_name, "labels": OWNED},
        "spec": {
            "group": api.group,
            "version": api.version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": backend,
            "caBundle": bundle,
            "insecureSkipTLSVerify": False,
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
