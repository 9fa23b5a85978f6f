"""The webhook process beside a live operator: it costs the operator's loop nothing, and comes back when it ends."""

import asyncio
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from keda_py.clock import SystemClock
from keda_py.kube.resources import EVENTS
from keda_py.operator.admission.paths import AUTHENTICATION, CLUSTER_AUTHENTICATION, SCALED_OBJECT
from keda_py.operator.admission.webhook.process import MODULE, SILENCE_SECONDS
from keda_py.serving.certificates import issue_client, make_authority, pem
from keda_py.serving.serving_certificate import ServingCertificate
from tests.costs import within
from tests.operator.admission.guarded import Guarded, a_guarded_world
from tests.operator.admission.webhook.reviews import CRON, review, written
from tests.waiting import eventually

JSON = {"Content-Type": "application/json"}
IDENTITY = {"provider": "aws", "roleArn": "arn:aws:iam::1:role/a", "identityOwner": "workload"}
WRONG_AUTHENTICATION = {"metadata": {"name": "auth"}, "spec": {"podIdentity": IDENTITY}}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    """One for all tests: nothing is created in it, and its webhook process is any."""
    async with a_guarded_world(tmp_path_factory.mktemp("guarded")) as guarded:
        assert guarded.world.operator.assembly.admission.process.pid is None, "nothing has called it"
        yield guarded


@pytest_asyncio.fixture(loop_scope="module")
async def guarded(shared: Guarded) -> Guarded:
    """Whose webhook has been called, so that its process runs."""
    await asyncio.to_thread(post, shared, review(WRONG_AUTHENTICATION), AUTHENTICATION.path)
    return shared


def post(guarded: Guarded, body: bytes, path: str = SCALED_OBJECT.path) -> Any:
    """From another thread than the operator's; the part of the answer that counts, or the status."""
    with httpx.Client(verify=False, timeout=60, trust_env=False) as client:
        answer = client.post(f"{guarded.webhook}{path}", content=body, headers=JSON)
    return answer.json()["response"] if answer.status_code == 200 else answer.status_code


async def test_fifty_thousand_triggers_take_no_time_of_the_operators_loop(guarded: Guarded) -> None:
    body = review(written(triggers=[CRON] * 50_000))
    assert len(body) > 5_000_000
    with within(1.0, time.thread_time):  # it took 7 s of this thread, which runs the operator
        answer = await asyncio.to_thread(post, guarded, body)
    assert not answer["allowed"]
    assert "has 50000 entries" in answer["status"]["message"]


async def test_a_review_is_answered_while_the_operators_loop_is_busy(guarded: Guarded) -> None:
    answered, answers = threading.Event(), list[Any]()

    def ask() -> None:
        answers.append(post(guarded, review(WRONG_AUTHENTICATION), CLUSTER_AUTHENTICATION.path))
        answered.set()

    thread = threading.Thread(target=ask)
    thread.start()
    in_time = answered.wait(30)  # nothing else happens on this loop meanwhile
    thread.join()
    assert in_time
    assert "roleArn of PodIdentity" in answers[0]["status"]["message"]


async def test_a_process_that_is_killed_comes_back(guarded: Guarded) -> None:
    process = guarded.world.operator.assembly.admission.process
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: process.pid not in (first, None), 30)
    answer = await asyncio.to_thread(post, guarded, review(WRONG_AUTHENTICATION), AUTHENTICATION.path)
    assert not answer["allowed"]


async def test_a_process_that_hangs_is_killed_and_comes_back(guarded: Guarded) -> None:
    process = guarded.world.operator.assembly.admission.process
    first = process.pid
    assert first is not None
    with httpx.Client(verify=False, timeout=60, trust_env=False) as client:
        url = f"{guarded.webhook}{SCALED_OBJECT.path}"
        await asyncio.to_thread(lambda: client.post(url, content=review(written()), headers=JSON))
        os.kill(first, signal.SIGSTOP)  # while that client keeps its connection
        await eventually(lambda: process.pid not in (first, None), 2 * SILENCE_SECONDS)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    answer = await asyncio.to_thread(post, guarded, review(written()))
    assert answer["allowed"]


async def test_a_process_ends_with_its_operator_however_that_ends_and_imports_no_client_of_any_source() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "importtime", "-m", MODULE, str(theirs.fileno())),
            pass_fds=[theirs.fileno()],
            stderr=asyncio.subprocess.PIPE,
        )
    ours.close()
    async with asyncio.timeout(60):
        _, told = await process.communicate()
    assert process.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in told.decode().splitlines()}
    assert "keda_py.sdk.registry" in imported
    assert not imported & {"httpx", "aiohttp", "cryptography", "rich", "click", "pygments", "keda_py.settings.settings"}
    assert not imported & {"importlib.metadata", "email", "zipfile", "tempfile", "difflib", "croniter", "holidays"}
    ours = {name.removeprefix("keda_py.") for name in imported if name.startswith("keda_py.")}
    only_with_their_kind = ("apis.environments", "apis.scaled_job", "apis.trigger_authentication", "apis.kinds")
    only_where_used = ("core.environment", "core.formula.compiler", "core.cron", "core.jobs", "apis.workloads", "kube")
    assert not [name for name in ours if name.startswith((*only_with_their_kind, *only_where_used))]


async def test_made_up_reviews_leave_no_trace_in_metrics_and_events(guarded: Guarded) -> None:
    slow = {"minReplicaCount": 1, "pollingInterval": 30}
    wrong = {"triggers": []}

    async def send(number: int) -> None:
        namespace = f"forged-{number}"
        for spec in (slow, wrong):
            obj = written(**spec)
            obj["metadata"] |= {"namespace": namespace, "uid": f"uid-{number}", "generation": 1}
            body = review(obj, namespace=namespace, operation=f"OP-{number}")
            assert isinstance(await asyncio.to_thread(post, guarded, body), dict)

    async def page() -> list[str]:
        async with httpx.AsyncClient() as client:
            text = (await client.get(f"{guarded.metrics}/metrics")).text
        return [line for line in text.splitlines() if "forged" in line or line.startswith("keda_webhook")]

    async def counted() -> float:
        return sum(float(line.rpartition(" ")[2]) for line in await page() if "validations_total" in line)

    async def are(reviews: float) -> bool:
        return await counted() == reviews

    earlier = await counted()
    await send(0)
    await eventually(lambda: are(earlier + 2))
    before = len(await page())
    for number in range(1, 20):
        await send(number)
    await eventually(lambda: are(earlier + 40))
    assert len(await page()) == before
    assert not any("forged" in line for line in await page())
    assert not [event for event in guarded.world.all(EVENTS) if event["reason"] == "KEDAScalerInfo"]


class Clients:
    """A CA, the certificates that it signs, and callers that show them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, make_authority(SystemClock().now())
        self.file = folder / "callers.crt"
        self.file.write_bytes(pem(self.authority.certificate))

    def signed(self, name: str) -> ServingCertificate:
        return issue_client(self.authority, [name], SystemClock().now())

    def post(self, guarded: Guarded, shown: ServingCertificate | None) -> Any:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if shown is not None:
            pair = self.folder / "pair.pem"
            pair.write_bytes(shown.certificate + shown.key)
            context.load_cert_chain(pair)
        with httpx.Client(verify=context, timeout=60, trust_env=False) as client:
            answer = client.post(f"{guarded.webhook}{SCALED_OBJECT.path}", content=review(written()), headers=JSON)
        return answer.status_code


async def test_only_callers_with_the_right_certificate_are_answered_where_a_ca_is_named(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    flags = {"webhook_client_ca_file": str(clients.file), "webhook_client_names": "apiserver,other"}
    (tmp_path / "elsewhere").mkdir()
    strangers = Clients(tmp_path / "elsewhere")
    async with a_guarded_world(tmp_path, **flags) as guarded:
        assert await asyncio.to_thread(clients.post, guarded, clients.signed("apiserver")) == 200
        assert await asyncio.to_thread(clients.post, guarded, clients.signed("mallory")) == 403
        for shown in (None, strangers.signed("apiserver")):
            with pytest.raises(httpx.TransportError):
                await asyncio.to_thread(clients.post, guarded, shown)
        clients.file.write_bytes(strangers.file.read_bytes())

        async def trusts_the_other() -> bool:
            try:
                return bool(await asyncio.to_thread(clients.post, guarded, strangers.signed("apiserver")) == 200)
            except httpx.TransportError:
                return False

        await eventually(trusts_the_other)
        with pytest.raises(httpx.TransportError):
            await asyncio.to_thread(clients.post, guarded, clients.signed("apiserver"))


async def test_a_body_that_comes_in_many_pieces_is_read_whole(guarded: Guarded) -> None:
    for size in (65_000, 66_000, 200_000):
        obj = written()
        obj["metadata"]["annotations"] = {"note": "x" * size}
        assert (await asyncio.to_thread(post, guarded, review(obj)))["allowed"]
