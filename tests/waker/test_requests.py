"""Requests to what sleeps: held, answered by a page, ignored, and passed on once a pod answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from keda_py.core.waking.rules import REQUEST_ANNOTATION, Ignored, Page, WakeState, WavePart
from keda_py.kube.resources import ENDPOINT_SLICES
from tests.http_server import HttpServer, http_server
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually
from tests.waker.lab import NAMESPACE, Lab, listens, open_lab, rules

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)",
    "Accept": "text/html,application/xhtml+xml",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with open_lab(tmp_path) as found:
        yield found


@pytest.fixture
async def shop() -> AsyncIterator[HttpServer]:
    """The application, which is not a pod of the Service before the test says so."""
    async with http_server() as server:
        server.answers["/hello"] = "from the pod"
        yield server


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        yield client


async def test_a_request_waits_until_a_pod_is_ready_and_is_answered_by_it(
    lab: Lab, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep()

    async def wake(_: object) -> None:
        await lab.pods("web", {"": [shop.port]})

    lab.on_call = wake
    answer = await http.get(f"http://{LOOPBACK}:{port}/hello?a=b")
    assert answer.text == "from the pod"
    assert str(shop.asked[0].rel_url) == "/hello?a=b"
    assert answer.headers["Connection"] == "close"
    told = lab.calls[0]
    assert {name: told[name] for name in ("namespace", "service", "port", "client")} == {
        "namespace": NAMESPACE,
        "service": "web",
        "port": "",
        "client": LOOPBACK,
    }
    assert told["userAgent"].startswith("python-httpx/")


async def test_a_pod_that_is_ready_but_does_not_accept_yet_is_tried_until_it_does(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep()
    later = free_port()
    await lab.pods("web", {"": [later]})
    asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/hello"))
    await eventually(lambda: lab.calls)
    server = await asyncio.start_server(_serve_hello, LOOPBACK, later)
    async with server:
        assert (await asking).text == "late"


@pytest.mark.parametrize("reset", [False, True])
async def test_a_pod_that_accepts_and_does_not_answer_costs_no_request(
    lab: Lab, http: httpx.AsyncClient, reset: bool
) -> None:
    """As a proxy beside an application that has not started yet."""
    refused = 0

    async def refuse_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal refused
        if refused == 2:
            await _serve_hello(reader, writer)
            return
        refused += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort() if reset else writer.close()

    async with await asyncio.start_server(refuse_twice, LOOPBACK, 0) as server:
        [port] = await lab.sleep()
        await lab.pods("web", {"": [server.sockets[0].getsockname()[1]]})
        assert (await http.get(f"http://{LOOPBACK}:{port}/hello")).text == "late"
    assert refused == 2


async def test_a_request_that_changes_something_is_sent_once(lab: Lab, http: httpx.AsyncClient) -> None:
    asked = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        writer.close()

    async with await asyncio.start_server(count, LOOPBACK, 0) as server:
        [port] = await lab.sleep()
        await lab.pods("web", {"": [server.sockets[0].getsockname()[1]]})
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(f"http://{LOOPBACK}:{port}/orders")
    assert asked == 1


async def _serve_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlate")
    writer.close()
    await writer.wait_closed()


async def test_a_navigation_gets_a_page_and_the_wake_is_asked_for(lab: Lab, http: httpx.AsyncClient) -> None:
    [port] = await lab.sleep(waves=(WavePart(name="db", ready=1, total=1), WavePart(name="rest", ready=2, total=8)))
    answer = await http.get(f"http://{LOOPBACK}:{port}/", headers=BROWSER)
    assert answer.status_code == 503
    assert "Ready: 3/9." in answer.text
    assert int(answer.headers["Retry-After"]) > 0
    await eventually(lambda: lab.calls)
    assert lab.calls[0]["userAgent"] == BROWSER["User-Agent"]


async def test_the_page_makes_no_request_to_the_api_server_or_the_operator_once_the_wake_is_asked_for(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep(state=WakeState.FORWARDING)
    for _ in range(50):
        assert "is waking up" in (await http.get(f"http://{LOOPBACK}:{port}/", headers=BROWSER)).text
    assert lab.calls == []
    assert await lab.metric("keda_py_waker_wakes_total") == 0


async def test_a_browser_that_reloads_all_the_time_is_told_to_the_operator_once_in_a_while(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep()
    for _ in range(100):
        await http.get(f"http://{LOOPBACK}:{port}/", headers=BROWSER)
    await eventually(lambda: lab.calls)
    assert len(lab.calls) < 50


@pytest.mark.parametrize(
    ("path", "agent"),
    [("/healthz", "curl/8"), ("/", "kube-probe/1.36"), ("/healthz?full", "x"), ("/", "ELB-HealthChecker/2.0")],
)
async def test_an_ignored_request_is_answered_and_wakes_nothing(
    lab: Lab, http: httpx.AsyncClient, path: str, agent: str
) -> None:
    ignored = Ignored(paths=("/healthz",), user_agents=("kube-probe/*", "ELB-HealthChecker/*"), status=200)
    [port] = await lab.sleep(ignored=ignored)
    answer = await http.get(f"http://{LOOPBACK}:{port}{path}", headers={"User-Agent": agent})
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert await lab.metric("keda_py_waker_held") == 0
    assert lab.calls == []


async def test_with_confirm_only_the_button_wakes(lab: Lab, http: httpx.AsyncClient) -> None:
    [port] = await lab.sleep(page=Page.CONFIRM)
    url = f"http://{LOOPBACK}:{port}"
    crawler = await http.get(f"{url}/shop", headers={"User-Agent": "Slackbot-LinkExpanding 1.0"})
    assert crawler.status_code == 503
    assert crawler.json()["state"] == "Asleep"
    asked = await http.get(f"{url}/shop?id=7", headers=BROWSER)
    assert "Wake it up" in asked.text
    assert 'http-equiv="refresh"' not in asked.text
    assert lab.calls == []
    action = asked.text.partition('action="')[2].partition('"')[0]
    pressed = await http.post(f"{url}{action}", headers={**BROWSER, "Sec-Fetch-Site": "same-origin"})
    assert 'content="2; url=/shop?id=7"' in pressed.text
    await eventually(lambda: lab.calls)


async def test_a_form_of_another_site_wakes_nothing(lab: Lab, http: httpx.AsyncClient) -> None:
    [port] = await lab.sleep(page=Page.CONFIRM)
    url = f"http://{LOOPBACK}:{port}/.keda-py/wake?to=/"
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert (await http.post(url, headers={**BROWSER, **headers})).status_code == 503
    assert lab.calls == []


async def test_after_the_hold_a_program_gets_retry_after_and_json(lab: Lab, http: httpx.AsyncClient) -> None:
    [port] = await lab.sleep(hold=1, usual=40)
    answer = await http.post(f"http://{LOOPBACK}:{port}/orders", json={"text": "x" * 200_000})
    assert answer.status_code == 503
    assert answer.json()["secondsLeft"] is None  # it wakes, and no time is known
    assert answer.headers["Retry-After"] == "10"
    assert await lab.metric("keda_py_waker_refused_total") == 1


async def test_while_requests_wait_the_operator_is_told_so_again(lab: Lab, http: httpx.AsyncClient) -> None:
    [port] = await lab.sleep()
    asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/"))
    await eventually(lambda: len(lab.calls) >= 3)
    assert lab.calls[-1]["waiting"] == 1
    asking.cancel()


async def asked_in_the_slice(lab: Lab) -> str:
    annotations = (await lab.client.get(ENDPOINT_SLICES.named(NAMESPACE, "web-keda-py-waker")))["metadata"][
        "annotations"
    ]
    return str(annotations.get(REQUEST_ANNOTATION, ""))


async def test_without_the_operator_the_wake_is_asked_for_in_the_slice(tmp_path: Path, http: httpx.AsyncClient) -> None:
    async with open_lab(tmp_path, patch_slices="true") as lab:
        lab.status = 503
        [port] = await lab.sleep()
        await http.get(f"http://{LOOPBACK}:{port}/", headers=BROWSER)
        assert '"service":"web"' in await eventually(lambda: asked_in_the_slice(lab))


async def test_unless_it_may_patch_slices_it_does_not_try_to(lab: Lab, http: httpx.AsyncClient) -> None:
    """The chart gives the right with `waker.patchSlices` alone; each try would be refused, and be in the audit log."""
    lab.status = 503
    [port] = await lab.sleep()
    await http.get(f"http://{LOOPBACK}:{port}/", headers=BROWSER)

    async def has_failed() -> bool:
        return await lab.metric("keda_py_waker_wakes_total") >= 1

    await eventually(has_failed)
    assert await asked_in_the_slice(lab) == ""


async def test_a_client_that_leaves_is_not_held_any_longer(lab: Lab) -> None:
    [port] = await lab.sleep()
    _, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    await eventually(lambda: lab.metric("keda_py_waker_held"))
    writer.close()

    async def is_gone() -> bool:
        return await lab.metric("keda_py_waker_held") == 0

    await eventually(is_gone)


async def test_the_operators_probe_is_answered_with_the_pods_name_only_for_the_ports_own_service(lab: Lab) -> None:
    [port] = await lab.sleep()
    for uid, answer in (("uid-web", b"KEDA-PY-WAKER keda-waker-0\r\n"), ("uid-other", b"")):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(f"PRI-KEDA-PY-PROBE {uid}\r\n".encode())
        assert await reader.read() == answer
        writer.close()
    assert lab.calls == []


async def test_each_port_of_a_service_leads_to_the_same_port_of_its_pods(
    lab: Lab, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    async with http_server() as admin:
        admin.answers["/hello"] = "from the admin port"
        first, second = await lab.sleep("web", "http", "admin")
        await lab.pods("web", {"http": [shop.port], "admin": [admin.port]})
        texts = [(await http.get(f"http://{LOOPBACK}:{port}/hello")).text for port in (first, second)]
    assert texts == ["from the pod", "from the admin port"]


async def test_pods_of_another_namespace_and_of_hand_written_slices_get_nothing(
    lab: Lab, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep(hold=1)
    await lab.pods("web", {"": [shop.port]}, namespace="other")
    answer = await http.get(f"http://{LOOPBACK}:{port}/hello", headers={"Host": "web.other.svc"})
    assert answer.status_code == 503
    assert shop.asked == []


async def test_a_port_serves_the_service_whose_slice_is_older(
    lab: Lab, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep()
    await lab.pods("web", {"": [shop.port]})
    await lab.put(rules("thief", ("", port)), namespace="other")
    await lab.sleep("last")  # the waker has seen the other one by then
    assert (await http.get(f"http://{LOOPBACK}:{port}/hello")).text == "from the pod"


async def test_after_the_slice_is_gone_late_connections_are_passed_on_for_a_moment(
    lab: Lab, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep()
    await lab.pods("web", {"": [shop.port]})
    await lab.delete()
    assert (await http.get(f"http://{LOOPBACK}:{port}/hello")).text == "from the pod"

    async def is_closed() -> bool:
        try:
            await http.get(f"http://{LOOPBACK}:{port}/hello")
        except httpx.ConnectError:
            return True
        return False

    await eventually(is_closed)


async def test_at_sigterm_it_is_not_ready_and_waiting_requests_are_served_to_their_end(
    tmp_path: Path, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    async with open_lab(tmp_path, drain_period="30s") as lab:
        [port] = await lab.sleep()
        asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/hello"))
        await eventually(lambda: lab.metric("keda_py_waker_held"))
        health = f"http://{LOOPBACK}:{lab.health_port}/readyz"
        assert (await http.get(health)).status_code == 200
        lab.stopping.set()
        assert (await http.get(health)).status_code == 503
        await lab.pods("web", {"": [shop.port]})
        assert (await asking).text == "from the pod"


async def test_while_the_last_requests_are_served_no_change_of_a_slice_opens_a_port_again(
    tmp_path: Path, shop: HttpServer, http: httpx.AsyncClient
) -> None:
    async with open_lab(tmp_path, drain_period="30s") as lab:
        [port] = await lab.sleep()
        asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/hello"))
        await eventually(lambda: lab.metric("keda_py_waker_held"))
        lab.stopping.set()
        await eventually(lambda: not listens(port))
        await lab.put(rules("other", ("", free_port())))
        await lab.pods("web", {"": [shop.port]})
        assert (await asking).text == "from the pod"  # so that the changes were heard
        assert not listens(port)


async def test_a_connection_opened_in_advance_gets_the_page_when_its_request_comes(lab: Lab) -> None:
    [port] = await lab.sleep()
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    await eventually(lambda: lab.metric("keda_py_waker_held"))  # silent for so long that the server might speak first
    head = "".join(f"{name}: {value}\r\n" for name, value in BROWSER.items())
    writer.write(f"GET / HTTP/1.1\r\nHost: web\r\n{head}\r\n".encode())
    assert b"is waking up" in await reader.read()
    writer.close()


async def test_with_confirm_a_connection_opened_in_advance_wakes_nothing(lab: Lab) -> None:
    [port] = await lab.sleep(page=Page.CONFIRM)
    _, writer = await asyncio.open_connection(LOOPBACK, port)
    await eventually(lambda: lab.metric("keda_py_waker_held"))
    assert lab.calls == []
    writer.close()


async def test_a_connection_opened_in_advance_is_asked_to_leave_as_any_other(lab: Lab, shop: HttpServer) -> None:
    [port] = await lab.sleep()
    await lab.pods("web", {"": [shop.port]})
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    await eventually(lambda: lab.metric("keda_py_waker_connections_total"))
    writer.write(b"GET /hello HTTP/1.1\r\nHost: web\r\n\r\n")
    assert (await reader.read()).endswith(b"from the pod")  # and then the end, instead of a connection that is kept
    writer.close()
