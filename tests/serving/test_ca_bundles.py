"""The APIService and the webhook configuration always contain our CA."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.clock import SystemClock
from keda_py.operator.certificates import guarded_objects
from keda_py.serving.certificates import make_certificate
from keda_py.serving.renewal.ca_bundles import CaBundles
from keda_py.serving.server_tls import ServerTls
from keda_py.settings.settings import load_settings
from tests.serving.conftest import OPERATOR, bound, client_of, role
from tests.serving.test_certificate_secret import RULES
from tests.waiting import connections_closed, eventually

API_SERVICE = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
    "spec": {
        "group": "external.metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"namespace": "keda", "name": "keda-metrics-apiserver", "port": 443},
    },
}
RULE = {"apiGroups": ["keda.sh"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"], "resources": ["scaledobjects"]}
WEBHOOKS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "keda-admission"},
    "webhooks": [
        {
            "name": name,
            "clientConfig": {"service": {"namespace": "keda", "name": "keda-admission-webhooks", "path": "/x"}},
            "rules": [RULE],
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in ("one.kb.io", "two.kb.io")
    ],
}


@asynccontextmanager
async def kept(cluster, folder, **flags: str) -> AsyncIterator[ServerTls]:
    """Run a leading replica with certificate rotation."""
    await cluster.apply([role("keda", *RULES), bound("ClusterRole", "keda", OPERATOR.name)])
    settings = load_settings({name: [value] for name, value in {"enable-cert-rotation": "true", **flags}.items()}, {})
    tls = ServerTls()
    tls.show(make_certificate(["keda"], SystemClock().now()))
    async with client_of(cluster, folder) as client, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(CaBundles(client, tls, guarded_objects(settings)).run())
        yield tls
        running.cancel()
    await connections_closed()


def api_service(cluster):
    found = cluster.store.resources.get("apiregistration.k8s.io/v1", "APIService")
    return cluster.store.get(found, "", "v1beta1.external.metrics.k8s.io")["spec"]


def bundles(cluster) -> set[bytes]:
    found = cluster.store.resources.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    webhooks = cluster.store.get(found, "", "keda-admission")["webhooks"]
    return {base64.b64decode(one["clientConfig"].get("caBundle") or "") for one in webhooks}


def bundle(cluster) -> bytes:
    return base64.b64decode(api_service(cluster).get("caBundle") or "")


async def test_both_objects_name_our_ca_and_follow_it(cluster, tmp_path):
    await cluster.apply([API_SERVICE, WEBHOOKS])
    async with kept(cluster, tmp_path) as tls:
        await eventually(lambda: bundle(cluster) == tls.certificate.ca and bundles(cluster) == {tls.certificate.ca})
        tls.show(make_certificate(["keda"], SystemClock().now()))
        await eventually(lambda: bundle(cluster) == tls.certificate.ca and bundles(cluster) == {tls.certificate.ca})


async def test_objects_that_come_later_or_are_changed_are_put_right(cluster, tmp_path):
    async with kept(cluster, tmp_path) as tls:
        await cluster.apply([API_SERVICE, WEBHOOKS])
        await eventually(lambda: bundle(cluster) == tls.certificate.ca and bundles(cluster) == {tls.certificate.ca})
        other = base64.b64encode(make_certificate(["x"], SystemClock().now()).ca).decode()
        await cluster.apply([{**API_SERVICE, "spec": {**API_SERVICE["spec"], "caBundle": other}}])
        await eventually(lambda: bundle(cluster) == tls.certificate.ca)


async def test_verification_that_somebody_switched_off_is_switched_on_again(cluster, tmp_path):
    async with kept(cluster, tmp_path) as tls:
        await cluster.apply([{**API_SERVICE, "spec": {**API_SERVICE["spec"], "insecureSkipTLSVerify": True}}])
        await eventually(lambda: bundle(cluster) == tls.certificate.ca)
        assert not api_service(cluster).get("insecureSkipTLSVerify")


async def test_an_api_service_that_leads_to_another_adapter_is_not_ours_until_it_leads_back(cluster, tmp_path):
    service = {"namespace": "datadog", "name": "adapter", "port": 443}
    await cluster.apply([{**API_SERVICE, "spec": {**API_SERVICE["spec"], "service": service}}, WEBHOOKS])
    async with kept(cluster, tmp_path) as tls:
        await eventually(lambda: bundles(cluster) == {tls.certificate.ca})
        assert bundle(cluster) == b""
        await cluster.apply([API_SERVICE])
        await eventually(lambda: bundle(cluster) == tls.certificate.ca)


async def test_each_patching_can_be_switched_off(cluster, tmp_path):
    await cluster.apply([API_SERVICE, WEBHOOKS])
    async with kept(cluster, tmp_path, **{"enable-webhook-patching": "false"}) as tls:
        await eventually(lambda: bundle(cluster) == tls.certificate.ca)
        assert bundles(cluster) == {b""}


async def test_what_only_a_human_can_put_right_is_said_once_with_field_value_and_remedy(cluster, tmp_path, caplog):
    service = {"namespace": "datadog", "name": "adapter", "port": 443}
    await cluster.apply([API_SERVICE, WEBHOOKS])
    async with kept(cluster, tmp_path) as tls:
        await eventually(lambda: bundle(cluster) == tls.certificate.ca)
        for priority in (100, 101):
            spec = {**API_SERVICE["spec"], "service": service, "versionPriority": priority}
            await cluster.apply([{**API_SERVICE, "spec": spec}])
        found = cluster.store.resources.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
        cluster.store.delete(found, "", "keda-admission")
        await eventually(lambda: len(errors(caplog)) == 2)
    assert set(errors(caplog)) == {
        "APIService v1beta1.external.metrics.k8s.io: spec.service is datadog/adapter: external.metrics.k8s.io is served"
        " by another Service; set it to keda/keda-metrics-apiserver",
        "ValidatingWebhookConfiguration keda-admission: it was deleted; apply it again",
    }


def errors(caplog) -> list[str]:
    records = (record.__dict__ for record in caplog.records if record.levelname == "ERROR")
    return [f"{record['object']}: {record['error']}" for record in records]
