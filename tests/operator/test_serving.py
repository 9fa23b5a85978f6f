"""The operator's ports in a cluster: certificates from the Secret, renewed while HPAs go on asking."""

import asyncio
import base64
import socket
import ssl
from datetime import timedelta

import pytest

from keda_py.clock import SystemClock
from keda_py.errors import Forbidden, KubeError
from keda_py.kube.resources import API_SERVICES, SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS
from keda_py.kube.transport import Request
from keda_py.serving.certificates import issue, make_certificate, read_authority
from keda_py.serving.serving_certificate import ServingCertificate
from tests.servers import free_port
from tests.waiting import connections_closed, eventually
from tests.worlds.world import World

SECRET = SECRETS.named("keda", "kedaorg-certs")
API_SERVICE = API_SERVICES.named("", "v1beta1.external.metrics.k8s.io")
WEBHOOKS = VALIDATING_WEBHOOK_CONFIGURATIONS.named("", "keda-admission")

_CRON = {"timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "1"}
NAMED_TWICE = {
    "scaleTargetRef": {"name": "app"},
    "triggers": [{"type": "cron", "name": "same", "metadata": _CRON} for _ in range(2)],
}


@pytest.fixture
async def rotating(quiet_world: World) -> World:
    """An operator that keeps its own certificates and serves a webhook."""
    quiet_world.operator.flags = {"enable-cert-rotation": "true", "webhook-port": str(free_port())}
    await quiet_world.operator.start()
    return quiet_world


async def test_an_operator_whose_webhook_port_is_taken_leaves_no_port_open(quiet_world: World) -> None:
    metrics_port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"secure_port": str(metrics_port), "webhook_port": str(other.getsockname()[1])}
        with pytest.raises(BaseExceptionGroup) as raised:
            async with quiet_world.operator.running(**ports):
                pytest.fail("it has started all the same")
    assert raised.group_contains(OSError, match="address already in use")
    with socket.create_server(("127.0.0.1", metrics_port)):
        pass  # nobody listens there any more


async def held(world: World) -> ServingCertificate:
    data = {key: base64.b64decode(text) for key, text in (await world.client.get(SECRET))["data"].items()}
    return ServingCertificate(
        ca=data["ca.crt"], ca_key=data["ca.key"], certificate=data["tls.crt"], key=data["tls.key"]
    )


async def hold(world: World, kept: ServingCertificate) -> None:
    texts = {"ca.crt": kept.ca, "ca.key": kept.ca_key, "tls.crt": kept.certificate, "tls.key": kept.key}
    await world.client.patch(SECRET, {"data": {key: base64.b64encode(text).decode() for key, text in texts.items()}})


async def named_authorities(world: World) -> set[bytes]:
    """The CAs that APIService and webhooks name."""
    spec = (await world.client.get(API_SERVICE))["spec"]
    webhooks = (await world.client.get(WEBHOOKS))["webhooks"]
    texts = [spec.get("caBundle", ""), *(one["clientConfig"].get("caBundle", "") for one in webhooks)]
    return {base64.b64decode(text) for text in texts}


async def discovery_works(world: World) -> bool:
    """Whether the aggregation reaches the operator and believes it."""
    try:
        await world.client.send(Request(method="GET", path="/apis/external.metrics.k8s.io/v1beta1"))
    except KubeError:
        return False
    return True


async def denies(world: World) -> bool:
    """Whether the webhook is asked and believed."""
    try:
        await world.create({"kind": "ScaledObject", "metadata": {"name": "bad"}, "spec": NAMED_TWICE})
    except Forbidden:
        return True
    return False


async def test_the_secret_is_made_and_both_ports_are_believed(rotating):
    kept = await held(rotating)
    assert await named_authorities(rotating) == {kept.ca}
    assert await discovery_works(rotating)
    assert await denies(rotating)


async def test_a_leaf_that_runs_out_is_renewed_without_a_failed_request(rotating):
    kept = await held(rotating)
    old = issue(read_authority(kept), ["keda-metrics-apiserver.keda.svc"], SystemClock().now() - timedelta(days=300))
    done, answers = asyncio.Event(), list[bool]()

    async def ask() -> None:
        while not done.is_set():
            answers.append(await discovery_works(rotating))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(4):
            tasks.create_task(ask())
        await hold(rotating, old)

        async def renewed() -> bool:
            return (await held(rotating)).certificate != old.certificate

        await eventually(renewed)
        so_far = len(answers)
        await eventually(lambda: len(answers) >= so_far + 50)
        done.set()
    assert (await held(rotating)).ca == kept.ca
    assert all(answers)
    assert await denies(rotating)


async def test_another_authority_in_the_secret_reaches_api_service_and_webhooks(rotating):
    other = make_certificate(["keda-metrics-apiserver.keda.svc", "127.0.0.1"], SystemClock().now())
    await hold(rotating, other)

    async def names_it() -> bool:
        return await named_authorities(rotating) == {other.ca} and await discovery_works(rotating)

    await eventually(names_it)
    assert await denies(rotating)


async def test_a_hijacked_api_service_and_a_deleted_secret_are_put_right(rotating):
    kept = await held(rotating)
    alien = base64.b64encode(make_certificate(["x"], SystemClock().now()).ca).decode()
    await rotating.client.patch(API_SERVICE, {"spec": {"caBundle": alien, "insecureSkipTLSVerify": False}})
    await rotating.client.delete(SECRET)

    async def right() -> bool:
        try:
            return await held(rotating) == kept and await named_authorities(rotating) == {kept.ca}
        except KubeError:
            return False

    await eventually(right)
    assert await discovery_works(rotating)


async def test_hpas_are_answered_through_the_front_proxy_and_strangers_are_not(rotating):
    assert await discovery_works(rotating)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", rotating.operator.assembly.serving.secure_port, ssl=_blind()
    )
    writer.write(
        b"GET /apis HTTP/1.1\r\nHost: x\r\nX-Remote-User: a\r\nX-Remote-Group: system:masters\r\nConnection: close\r\n\r\n"
    )
    assert b" 403 " in (await reader.read()).splitlines()[0]
    writer.close()
    await connections_closed()


def _blind() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
