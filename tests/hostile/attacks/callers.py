"""Hostile callers: of the webhook, of the metrics API, and of the ports for the kubelet and Prometheus."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from uuid import uuid4

import aiohttp

from keda_py.errors import KubeError
from keda_py.kube.transport import Request
from tests.builders import scaled_object
from tests.hostile.attacks.payloads import nested
from tests.hostile.attacks.ports import blind, exchange, hold
from tests.hostile.attacks.triggers import cron
from tests.hostile.case import Case
from tests.hostile.trial import Trial
from tests.servers import LOOPBACK

CROWD_SECONDS = 0.5
"""So long the scrapers are at it before the wave goes on; they never end by themselves."""

MIB = 2**20
PATH = "/validate-keda-sh-v1alpha1-scaledobject"
METRICS = "/apis/external.metrics.k8s.io/v1beta1/namespaces"
CONNECTIONS = 600
"""More than the operator has descriptors."""
HALF = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-A: "
CLIENT_HELLO = bytes.fromhex("1603010200010001fc0303")
PORTS = ("secure", "webhook", "metrics", "health")
Port = Callable[[Trial], int]


def _port(name: str, trial: Trial) -> int:
    operator = trial.installation.operator
    known = {"secure": operator.secure, "metrics": operator.metrics, "health": operator.health}
    return known.get(name, trial.installation.webhook)


def _is_tls(name: str) -> bool:
    return name in ("secure", "webhook")


async def _half_open(trial: Trial, port: str, beginning: bytes, encrypted: bool = False) -> None:
    await hold(trial, _port(port, trial), CONNECTIONS, beginning, blind() if encrypted else None)


async def _malformed(trial: Trial, port: str) -> None:
    """Each of these gets an error or nothing, without a word about the software."""
    tls = blind() if _is_tls(port) else None
    for sent in (
        b"\x00\xff\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /..%2f..%2fetc/passwd HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    ):
        answer = await exchange(_port(port, trial), sent, tls, seconds=2.0)
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"\r\nserver:" not in head, head
        assert b"aiohttp" not in answer.lower(), answer
        assert b"traceback" not in answer.lower(), answer


async def _pipelined(trial: Trial) -> None:
    """Very many questions on one connection, whose answers are not read."""
    await hold(trial, trial.installation.operator.metrics, 20, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)


async def _scrapers(trial: Trial) -> None:
    async def scrape() -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                async with session.get(f"http://{LOOPBACK}:{trial.installation.operator.metrics}/metrics") as answer:
                    await answer.read()

    for _ in range(20):
        trial.spawn(scrape())
    await asyncio.sleep(CROWD_SECONDS)


async def _post(trial: Trial, body: bytes, path: str = PATH) -> int:
    """The status of an answer of the webhook; 0 where there is none."""
    url = f"https://{LOOPBACK}:{trial.installation.webhook}{path}"
    try:
        timeout = aiohttp.ClientTimeout(total=15)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            headers = {"Content-Type": "application/json"}
            async with session.post(url, data=BytesIO(body), ssl=blind(), headers=headers) as answer:
                await answer.read()
                return answer.status
    except (aiohttp.ClientError, OSError, TimeoutError):
        return 0


def review(obj: object, namespace: str = "hostile") -> bytes:
    """An AdmissionReview as the API server sends it."""
    kind = {"group": "keda.sh", "version": "v1alpha1", "kind": "ScaledObject"}
    request = {"uid": uuid4().hex, "kind": kind, "namespace": namespace, "operation": "CREATE", "object": obj}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


async def _posts(trial: Trial, make: Callable[[int], bytes], count: int, *allowed: int) -> None:
    """So many posts; when `allowed` is given, each has one of these statuses."""
    seen: list[int] = []

    async def one(index: int) -> None:
        seen.append(await _post(trial, make(index)))

    await trial.each(one, count)
    assert not allowed or set(seen) <= set(allowed), sorted(set(seen))


def _webhook(id: str, sentence: str, make: Callable[[int], bytes], count: int, *allowed: int, wave: str = "") -> Case:
    async def attack(trial: Trial) -> None:
        await _posts(trial, make, count, *allowed)

    return Case(id=id, sentence=sentence, attack=attack, wave=wave)


def _large(_: int) -> bytes:
    return review(scaled_object(cron(), name="a") | {"status": {"a": "b" * 6 * MIB}})


def _wide(_: int) -> bytes:
    return review(scaled_object(*[cron()] * 40_000, name="a"))


def _forged(index: int) -> bytes:
    return review(scaled_object({"type": f"t{index}", "metadata": {}}, name="a"), f"forged-{index}-{'x' * 200}")


def _wrong(index: int) -> bytes:
    return (b"", b"{}", b"[]", b"\xff", review(5), review({"spec": []}), b'{"request": {"object": 1}}')[index % 7]


async def _slow_posts(trial: Trial) -> None:
    """Bodies that are promised and do not come."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 7000000\r\n\r\n".encode()
    await hold(trial, trial.installation.webhook, 100, head + b"{" * 1000, blind())


async def _tokens(trial: Trial) -> None:
    """Each of them has to be asked about."""
    asked = 0
    async with aiohttp.ClientSession() as session:

        async def one(index: int) -> None:
            nonlocal asked
            url = f"https://{LOOPBACK}:{trial.installation.operator.secure}{METRICS}/innocent/s0-metric-api-value"
            headers = {"Authorization": f"Bearer {uuid4().hex}", "X-Remote-User": "admin"}
            headers["X-Remote-Group"] = "system:masters"
            async with session.get(url, ssl=blind(), headers=headers) as answer:
                assert answer.status in (401, 403, 429, 503), answer.status
                assert b"value" not in await answer.read()
            asked += 1

        await trial.each(one, 400)
    assert asked


async def _ask(trial: Trial, path: str, query: dict[str, str]) -> int:
    """The status of what the API server answers for the operator."""
    try:
        await trial.client.raw(Request(method="GET", path=path, query=query, resource="metrics"))
    except KubeError as error:
        return error.status
    return 200


async def _questions(trial: Trial) -> None:
    """Through the API server, as a caller who may ask: names of metrics that do not exist."""

    async def one(index: int) -> None:
        path = f"{METRICS}/hostile-{index}/{uuid4().hex}"
        query = {"labelSelector": f"scaledobject.keda.sh/name={'n' * 60}{index}"}
        assert await _ask(trial, path, query) in (400, 404, 500)

    await trial.each(one, 500)


async def _selectors(trial: Trial) -> None:
    """A selector as long as a line may be."""

    async def one(index: int) -> None:
        selector = ",".join(["a in (b" + ",c" * 20 + ")"] * 100)[:7000]
        query = {"labelSelector": selector}
        path = f"{METRICS}/hostile/s0-metric"
        assert await _ask(trial, path, query) in (400, 404, 500)

    await trial.each(one, 100)


def _half(port: str, sentence: str, id: str, beginning: bytes, encrypted: bool = False) -> Case:
    return Case(
        id=id, sentence=sentence, attack=partial(_half_open, port=port, beginning=beginning, encrypted=encrypted)
    )


Attack = Callable[[Trial], Awaitable[None]]

CASES = (
    _half("secure", "600 connections to the metrics API without a handshake", "secure-silent", b""),
    _half("secure", "600 handshakes with the metrics API, begun only", "secure-hello", CLIENT_HELLO),
    _half("secure", "600 half questions to the metrics API", "secure-half", HALF, encrypted=True),
    _half("webhook", "600 connections to the webhook without a handshake", "webhook-silent", b""),
    _half("metrics", "600 half questions for the metrics page", "metrics-half", HALF),
    _half("metrics", "600 silent connections to the metrics page", "metrics-silent", b""),
    _half("health", "600 half questions to the probes", "health-half", HALF),
    _half("health", "600 silent connections to the probes", "health-silent", b""),
    *(
        Case(
            id=f"malformed-{port}",
            sentence=f"malformed requests to port {port}",
            attack=partial(_malformed, port=port),
            wave="malformed",
        )
        for port in PORTS
    ),
    Case(
        id="pipelined",
        sentence="40 000 questions for the metrics page whose answers are not read",
        attack=_pipelined,
        wave="page",
    ),
    Case(
        id="scrapers",
        sentence="20 clients that ask for the metrics page without a pause",
        attack=_scrapers,
        wave="page",
    ),
    _webhook("review-large", "reviews of 6 MB", _large, 6),
    _webhook("review-wide", "reviews of 40 000 triggers", _wide, 4),
    _webhook("review-namespaces", "2 000 reviews of as many forged namespaces", _forged, 2000),
    # not beside those that fill the port: a full port drops who has not asked yet
    _webhook("review-malformed", "200 malformed reviews", _wrong, 200, 200, 400, wave="malformed"),
    _webhook(
        "review-depth",
        "reviews of nothing but brackets",
        lambda _: nested("[", "]", 6 * MIB).encode(),
        3,
        wave="reviews",
    ),
    Case(id="review-slow", sentence="100 reviews whose body does not come", attack=_slow_posts, wave="reviews"),
    Case(id="tokens", sentence="400 questions with forged tokens and names", attack=_tokens, wave="questions"),
    Case(id="questions", sentence="500 questions about metrics that do not exist", attack=_questions, wave="questions"),
    Case(id="selectors", sentence="100 questions with the longest selectors", attack=_selectors, wave="questions"),
)
