"""The judge itself: what KEDA asked equals its own recording, and what is asked otherwise does not."""

import base64
import re  # noqa: TID251 - a constant pattern over our own recordings
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson
import pytest
from yarl import URL

from keda_py.clock import FakeClock
from keda_py.net.http import HttpClientSpec
from keda_py.net.proxies import Proxies
from keda_py.net.tls import TlsSettings
from keda_py.testing import A_SATURDAY, shared_context
from tests.scalers.recorded.comparison import unlike, unlike_requests
from tests.scalers.recorded.http_cases import HttpCase, recorded_exchanges, while_time_passes
from tests.scalers.recorded.likeness import Likeness
from tests.scalers.recorded.scripts import Asked, AskedServer, Script
from tests.scalers.recorded.stage import Stage

_NOW = re.compile(r"<now(?:([+-]\d+)([sm]))?(?: truncated to \d+s)?(?:\||, )([^<>]*)>")
AT = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)
ASKED = Asked(
    place=AskedServer(), method="GET", path="/a%2Fb/(c)", query="x=1&y=%26", host="", headers={}, body=b"", client_cert="", at=AT
)  # fmt: skip
RECORDED = {"m": "GET", "path": "/a%2Fb/%28c%29", "query": {"y": "&", "x": "1"}}


@pytest.mark.parametrize("trigger_type", [name for name in recorded_exchanges() if name != "splunk-observability"])
async def test_the_recorded_requests_reach_their_server_and_equal_themselves(trigger_type: str, stage: Stage) -> None:
    proxy, clock = URL(stage.proxy), FakeClock(A_SATURDAY)
    http = HttpClientSpec(proxies=Proxies(http=proxy, https=proxy))
    problems = {}
    async with shared_context(clock=clock, http=http, tls=stage.papers.tls) as lent:
        for case in recorded_exchanges()[trigger_type]:
            if case.is_wanted and (found := await _ask_again(case, stage, lent.http, clock)):
                problems[case.name] = found
    assert problems == {}


async def _ask_again(case: HttpCase, stage: Stage, http: httpx.AsyncClient, clock: FakeClock) -> list[str]:
    given = stage.filled(case.recorded)
    script = Script([{**answer, "delayMs": 0} for answer in given["answers"]])
    stage.begin(script, clock)
    results = [given.get("build", {}), *given.get("results", ())]
    requests = [one for result in results for one in result.get("requests", ())]
    for one in requests:
        if not one.get("clientCert"):
            await http.send(_request(one, stage), follow_redirects=False)
    wanted = [one for one in requests if not one.get("clientCert")]
    return unlike_requests(wanted, script.asked, unordered=given.get("unordered", False))


def _request(one: Mapping[str, Any], stage: Stage) -> httpx.Request:
    name = f"{'TLS' if one.get('tls') else ''}HOST{'' if one.get('server', 1) == 1 else one['server']}"
    host = one.get("host") or stage.filled("{{" + name + "}}")
    pairs = [(key, item) for key, value in one.get("query", {}).items() for item in _each(value)]
    query = one.get("rawQuery") or urlencode([(key, _told(value)) for key, value in pairs])
    headers = {**one.get("headers", {})}
    if "authorization" in headers:
        headers["authorization"] = _authorization(headers["authorization"])
    scheme = "https" if one.get("tls") else "http"
    url = httpx.URL(f"{scheme}://{host}").copy_with(raw_path=f"{one['path']}?{query}".rstrip("?").encode())
    unsafe = {"ssl": stage.papers.tls.get(TlsSettings(unsafe=True), "")} if one.get("tls") else {}
    return httpx.Request(one["m"], url, headers=headers, content=_body(one), extensions=unsafe)


def _each(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _authorization(written: str) -> str:
    scheme, _, rest = written.partition(" ")
    if scheme == "Basic":
        return f"Basic {base64.b64encode(rest[1:-1].encode()).decode()}"
    return _token(written)


def _token(written: str) -> str:
    before, jwt, rest = _told(written).partition("<jwt ")
    if not jwt:
        return before
    head, _, claims = rest.removesuffix(">").partition("} {")
    parts = (head + "}", "{" + claims)
    return before + ".".join([*(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts), "sig"])


def _told(written: str) -> str:
    def told(found: re.Match[str]) -> str:
        at, form = AT + timedelta(seconds=int(found[1] or 0) * (60 if found[2] == "m" else 1)), found[3]
        if form.startswith("unix"):
            return str(int(at.timestamp() * (1000 if form == "unixms" else 1)))
        if form.startswith("yyyy"):
            return at.strftime("%Y-%m-%dT%H:%M:00")
        return at.isoformat().replace("+00:00", "Z")

    return _NOW.sub(told, written)


def _body(one: Mapping[str, Any]) -> bytes:
    if "json" in one:
        return _told(orjson.dumps(one["json"]).decode()).encode()
    if "cbor" in one:
        return _told(orjson.dumps(one["cbor"]).decode()).encode()
    if "form" in one:
        pairs = [(key, _token(item)) for key, value in one["form"].items() for item in _each(value)]
        return urlencode(pairs).encode()
    return str(one.get("body", "")).encode()


@pytest.mark.parametrize(
    "other",
    [
        {"m": "POST"},
        {"path": "/a/b/(c)"},
        {"query": {"x": "1"}},
        {"query": {"x": "1", "y": ["&", "2"]}},
        {"headers": {"x-key": "k"}},
        {"json": {}},
        {"server": 2},
        {"host": "other"},
        {"clientCert": "rec-client"},
    ],
    ids=str,
)
def test_a_request_that_says_something_else_differs(other: Mapping[str, Any]) -> None:
    assert unlike(RECORDED, ASKED) == []
    assert unlike({**RECORDED, **other}, ASKED) != []


def test_an_authorization_that_keda_does_not_send_differs() -> None:
    asked = Asked(
        **{name: getattr(ASKED, name) for name in Asked.__slots__} | {"headers": {"authorization": "Basic eA=="}}
    )
    assert unlike(RECORDED, asked) == ["KEDA sends no authorization"]


def test_only_optional_requests_and_tries_may_be_missing_or_twice() -> None:
    optional, again = {**RECORDED, "optional": True}, {**RECORDED, "retry": True}
    assert unlike_requests([optional, RECORDED, again], [ASKED], unordered=False) == []
    assert unlike_requests([RECORDED, again], [ASKED, ASKED], unordered=False) == []
    assert unlike_requests([RECORDED], [ASKED, ASKED], unordered=False) != []
    assert unlike_requests([RECORDED], [], unordered=True) != []


async def test_a_scaler_that_waits_before_it_tries_again_is_not_waited_for() -> None:
    clock = FakeClock(A_SATURDAY)
    await while_time_passes(clock, clock.sleep(10))
    assert clock.now() >= A_SATURDAY + timedelta(seconds=10)


def test_a_body_of_cbor_is_compared_by_value() -> None:
    answers = [answer for case in recorded_exchanges()["aws-cloudwatch"] for answer in case.recorded["answers"]]
    written = [answer for answer in answers if "cbor" in answer]
    assert written != []
    for answer in written:
        asked = replace(ASKED, body=base64.b64decode(answer["bodyB64"]))
        assert unlike({**RECORDED, "cbor": answer["cbor"]}, asked) == []
        assert unlike({**RECORDED, "cbor": {**answer["cbor"], "More": 1}}, asked) != []


@pytest.mark.parametrize(
    ("recorded", "ours", "alike"),
    [
        ("<now-60s|unix>", str(int(AT.timestamp()) - 65), True),
        ("<now-60s|unix>", str(int(AT.timestamp())), False),
        ("<now|unixms>", int(AT.timestamp() * 1000), True),
        ("<now-300s|rfc3339Z>/<now|rfc3339Z>", "2026-11-21T05:51:00Z/2026-11-21T05:56:00Z", True),
        ("<now|rfc3339+05:30>", "2026-11-21T11:26:00+05:30", True),
        ("<now|rfc3339Z>", "now", False),
        ("<name>", "x", False),
        (1, True, False),
        (5, 5.0, True),
        (5, "5", False),
        ({"a": [1]}, {"a": [1], "b": 2}, False),
    ],
    ids=str,
)
def test_times_are_alike_within_seconds_and_all_else_by_value(recorded: object, ours: object, alike: bool) -> None:
    assert Likeness((AT,)).values(recorded, ours) is alike
