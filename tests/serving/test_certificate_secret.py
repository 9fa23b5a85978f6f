"""The Secret that all replicas share: created once, adopted, repaired, and renewed while they serve."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from keda_py.clock import SystemClock
from keda_py.localkube.cluster import LocalCluster
from keda_py.serving.certificates import alternative_names, make_certificate, read_leaf
from keda_py.serving.renewal.certificate_secret import SecretCertificates, SecretSpec, service_hosts
from keda_py.serving.server_tls import ServerTls
from tests.serving.conftest import OPERATOR, bound, client_of, role
from tests.waiting import connections_closed, eventually

REFUSED_SECONDS = 0.2
"""Long enough to be refused; a certificate would be there sooner."""

SERVICES = ("keda-operator", "keda-metrics-apiserver", "keda-admission-webhooks")
SPEC = SecretSpec(namespace="keda", name="kedaorg-certs", hosts=service_hosts(SERVICES, "keda", "cluster.local"))
RULES = [
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "create", "update"]},
    {
        "apiGroups": ["apiregistration.k8s.io", "admissionregistration.k8s.io"],
        "resources": ["apiservices", "validatingwebhookconfigurations"],
        "verbs": ["get", "list", "watch", "update"],
    },
]


@pytest.fixture
async def allowed(cluster: LocalCluster) -> LocalCluster:
    await cluster.apply([role("keda", *RULES), bound("ClusterRole", "keda", OPERATOR.name)])
    return cluster


@asynccontextmanager
async def replicas(cluster: LocalCluster, folder, count: int = 1) -> AsyncIterator[list[ServerTls]]:
    """Start this many processes that keep the Secret, each with the certificate that it serves."""
    async with client_of(cluster, folder) as client, asyncio.TaskGroup() as tasks:
        shown = [ServerTls() for _ in range(count)]
        running = [tasks.create_task(SecretCertificates(client, SPEC, tls, SystemClock()).run()) for tls in shown]
        for tls in shown:
            async with asyncio.timeout(5):
                await tls.shown.wait()
        yield shown
        for task in running:
            task.cancel()
    await connections_closed()


def secret(cluster: LocalCluster):
    return cluster.store.find(cluster.store.resources.get("v1", "Secret"), "keda", "kedaorg-certs")


def held(cluster: LocalCluster, key: str) -> bytes:
    return base64.b64decode((secret(cluster) or {}).get("data", {}).get(key, ""))


async def put(cluster: LocalCluster, data: dict[str, bytes]) -> None:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"namespace": "keda", "name": "kedaorg-certs"}
    await cluster.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}])


async def test_ten_replicas_that_start_at_once_serve_with_one_certificate(allowed, tmp_path):
    async with replicas(allowed, tmp_path, 10) as shown:
        await eventually(lambda: len({tls.certificate for tls in shown}) == 1)
        assert shown[0].certificate.certificate == held(allowed, "tls.crt")
    assert set(secret(allowed)["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    names = alternative_names(read_leaf(shown[0].certificate))
    assert len(names) == 12
    assert {"keda-operator", "keda-admission-webhooks.keda", "keda-metrics-apiserver.keda.svc.cluster.local"} <= set(
        names
    )


async def test_an_empty_secret_is_filled_and_what_else_is_in_it_kept(allowed, tmp_path):
    await put(allowed, {"note": b"mine"})
    async with replicas(allowed, tmp_path):
        assert held(allowed, "note") == b"mine"
        assert held(allowed, "tls.crt")


async def test_a_deleted_secret_comes_back_as_it_was(allowed, tmp_path):
    async with replicas(allowed, tmp_path, 3) as shown:
        before, uid = held(allowed, "tls.crt"), secret(allowed)["metadata"]["uid"]
        secrets = allowed.store.resources.get("v1", "Secret")
        allowed.store.delete(secrets, "keda", "kedaorg-certs")
        await eventually(lambda: (secret(allowed) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)
        assert held(allowed, "tls.crt") == before
        assert {tls.certificate.certificate for tls in shown} == {before}


@pytest.mark.parametrize("key", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
async def test_a_spoilt_secret_is_repaired_and_clients_keep_their_ca(allowed, tmp_path, key):
    async with replicas(allowed, tmp_path):
        before = held(allowed, "ca.crt")
        await put(allowed, {key: b"spoilt"})
        await eventually(lambda: held(allowed, key) != b"spoilt")
        assert held(allowed, "ca.crt") == before


async def test_a_leaf_that_runs_out_is_renewed_while_all_serve(allowed, tmp_path):
    async with replicas(allowed, tmp_path, 2) as shown:
        old = make_certificate(SPEC.hosts, SystemClock().now() - timedelta(days=300))
        data = {"ca.crt": old.ca, "ca.key": old.ca_key, "tls.crt": old.certificate, "tls.key": old.key}
        await put(allowed, data)
        await eventually(lambda: held(allowed, "tls.crt") != old.certificate and held(allowed, "ca.crt") == old.ca)
        await eventually(lambda: {tls.certificate.certificate for tls in shown} == {held(allowed, "tls.crt")})
        assert read_leaf(shown[0].certificate).not_valid_after_utc > SystemClock().now() + timedelta(days=360)


async def test_a_secret_that_keda_made_is_adopted(allowed, tmp_path):
    """KEDA's keys are RSA, in PKCS 1."""
    from tests.serving.keda_secret import keda_secret

    data = keda_secret(SPEC.hosts, SystemClock().now())
    await put(allowed, data)
    async with replicas(allowed, tmp_path) as shown:
        assert shown[0].certificate.certificate == data["tls.crt"]
        assert held(allowed, "tls.crt") == data["tls.crt"]


async def test_without_permission_nothing_is_shown_until_it_is_given(cluster, tmp_path):
    async with client_of(cluster, tmp_path) as client, asyncio.TaskGroup() as tasks:
        tls = ServerTls()
        running = tasks.create_task(SecretCertificates(client, SPEC, tls, SystemClock()).run())
        await asyncio.sleep(REFUSED_SECONDS)
        assert tls.certificate is None
        await cluster.apply([role("keda", *RULES), bound("ClusterRole", "keda", OPERATOR.name)])
        async with asyncio.timeout(5):
            await tls.shown.wait()
        running.cancel()
    await connections_closed()
