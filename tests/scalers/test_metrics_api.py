"""`metrics-api` against a real HTTP server."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.context import Reach
from keda_py.testing import EngineContext, Objects, check_scaler, endpoint_slice, shared_context
from scalers.metrics_api import MetricsAPIScaler
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.scalers.conftest import Bench

JSON = '{"components":[{"id":"82328e93e","tasks":32,"str":"64","k":"1k","wrong":"NaN"}],"count":2.43,"a":{"b":null}}'
YAML = "components:\n- id: 82328e93e\n  tasks: 32\n  str: '64'\n  k: 1k\n  wrong: NaN\ncount: 2.43\n"
XML = """<?xml version="1.0"?><root xmlns="urn:x"><component id="7"><tasks>32</tasks><k>1k</k></component>
<component><tasks>5</tasks></component><count> 2.43 </count></root>"""
EXPOSITION = """\
# HELP jobs_waiting Waiting jobs.\r
# TYPE jobs_waiting gauge\r
jobs_waiting{queue="mail",zone="a"} 3\r
jobs_waiting{queue="ima\\"ge",zone="b"} 4e1\r
jobs_waiting_long 99
# TYPE done_total counter
done_total 12
# TYPE done counter
done 13
untyped_thing 7.5 1395066363000
# TYPE took histogram
took_bucket{le="+Inf"} 5
took_sum 9
took_count 5"""


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


def ask(url: str, location: str = "count", **metadata: str) -> dict[str, str]:
    return {"url": url, "valueLocation": location, "targetValue": "5", **metadata}


@pytest.mark.parametrize(
    ("format", "body", "location", "value"),
    [
        ("json", JSON, "count", 2.43),
        ("json", JSON, "components.0.tasks", 32),
        ("json", JSON, "components.0.str", 64),
        ("json", JSON, "components.0.k", 1000),
        ("json", JSON, "components.#", 1),
        ("json", "7", "@this", 7),
        ("yaml", YAML, "count", 2.43),
        ("yaml", YAML, "components.0.tasks", 32),
        ("yaml", YAML, "components.0.str", 64),
        ("yaml", YAML, "components.0.k", 1000),
        ("xml", XML, "root.component.0.tasks", 32),
        ("xml", XML, "root.component.0.k", 1000),
        ("xml", XML, "root.component.1.tasks", 5),
        ("xml", XML, "root.count", 2.43),
        ("prometheus", EXPOSITION, 'jobs_waiting{queue="mail"}', 3),
        ("prometheus", EXPOSITION, 'jobs_waiting{queue=\'ima"ge\', zone="b",}', 40),
        ("prometheus", EXPOSITION, "jobs_waiting", 3),
        ("prometheus", EXPOSITION, '{__name__="jobs_waiting",zone="b"}', 40),
        ("prometheus", EXPOSITION, "jobs_waiting_long", 99),
        ("prometheus", EXPOSITION, "done_total", 12),
        ("prometheus", EXPOSITION, "done", 13),
        ("prometheus", EXPOSITION, "untyped_thing", 7.5),
    ],
)
async def test_a_value_is_found(
    bench: Bench, server: HttpServer, format: str, body: str, location: str, value: float | None
) -> None:
    server.answers["/value"] = body
    scaler = await bench.opened("metrics-api", ask(f"{server.url}/value", location, format=format))
    if value is None:
        with pytest.raises(ScalerError, match="is not supported"):
            await scaler.read()
    else:
        assert (await scaler.read()).value == value


@pytest.mark.parametrize(
    ("format", "body", "location", "message"),
    [
        ("json", JSON, "missing", 'valueLocation "missing" must point to a numeric value .*, got Null'),
        ("json", JSON, "a.b", "got Null"),
        ("json", JSON, "components", "got JSON"),
        ("json", JSON, "components.0.wrong", "got String"),
        ("json", '{"count":true}', "count", "got True"),
        ("json", "<html>", "count", "the answer is not JSON"),
        ("json", "", "count", "the answer is not JSON"),
        ("yaml", YAML, "components.1.tasks", '"1" not found'),
        ("yaml", YAML, "components.0.wrong", "got String"),
        ("yaml", "a: [", "a", "the answer is not YAML"),
        ("yaml", "!!python/object/apply:os.system [x]", "a", "the answer is not YAML"),
        ("xml", XML, "root.missing", '"missing" not found'),
        ("xml", XML, "root", "got JSON"),
        ("xml", "<a>", "a", "the answer is not XML"),
        ("xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "a", "declares entities"),
        ("prometheus", EXPOSITION, "missing", "value missing not found"),
        ("prometheus", EXPOSITION, 'jobs_waiting{queue="x"}', "not found"),
        ("prometheus", EXPOSITION, "took", "not found"),
        ("prometheus", EXPOSITION, "jobs_waiting{queue", "is not a selector"),
        ("prometheus", EXPOSITION, '{a="b"}', "names no metric"),
        ("prometheus", "jobs_waiting many\n", "jobs_waiting", "not in the text format"),
    ],
)
async def test_a_value_that_is_not_there_is_an_error(
    bench: Bench, server: HttpServer, format: str, body: str, location: str, message: str
) -> None:
    server.answers["/value"] = body
    scaler = await bench.opened("metrics-api", ask(f"{server.url}/value", location, format=format))
    with pytest.raises(ScalerError, match=message) as wrong:
        await scaler.read()
    assert str(wrong.value).startswith("error requesting metrics endpoint: ")


async def test_metric_target_and_activation(bench: Bench) -> None:
    scaler = bench.scaler("metrics-api", ask("http://a/b", "a.b", targetValue="0.5", activationTargetValue="2"))
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("metric-api-a.b", 0.5, 2.0)


@pytest.mark.parametrize(
    ("metadata", "auth", "query", "headers"),
    [
        ({"authMode": "apiKey"}, {"apiKey": "s3cret"}, "", {"X-API-KEY": "s3cret"}),
        ({"authMode": "apiKey", "keyParamName": "X-Own"}, {"apiKey": "s3cret"}, "", {"X-Own": "s3cret"}),
        ({"authMode": "apiKey"}, {"apiKey": "s3cret", "method": "query"}, "api_key=s3cret", {}),
        ({"authMode": "apiKey", "method": "query", "keyParamName": "k"}, {"apiKey": "a&b"}, "k=a%26b", {}),
        ({"authMode": "basic"}, {"username": "me", "password": "x"}, "", {"Authorization": "Basic bWU6eA=="}),
        ({"authMode": "bearer"}, {"token": "s3cret"}, "", {"Authorization": "Bearer s3cret"}),
        ({}, {"token": "s3cret"}, "", {}),
    ],
)
async def test_auth_modes(
    bench: Bench, server: HttpServer, metadata: Any, auth: Any, query: str, headers: dict[str, str]
) -> None:
    server.answers["/value"] = JSON
    scaler = await bench.opened("metrics-api", ask(f"{server.url}/value?a=b", **metadata), auth=auth)
    await scaler.read()
    (request,) = server.asked
    assert request.query_string == ("a=b&" + query).rstrip("&")
    told = {name: request.headers[name] for name in request.headers if name in ("X-API-KEY", "X-Own", "Authorization")}
    assert told == headers


async def test_a_client_certificate(bench: Bench, tmp_path: Path) -> None:
    ours = Authority()
    pair = ours.leaf("keda")
    async with http_server(ours.server_context(tmp_path, wants_client=True)) as server:
        server.answers["/"] = JSON
        auth = {"cert": pair.cert, "key": pair.key, "ca": ours.cert}
        scaler = await bench.opened("metrics-api", ask(server.url, authMode="tls"), auth=auth)
        assert (await scaler.read()).value == 2.43


async def test_only_status_200_is_an_answer_and_an_api_key_is_never_told(bench: Bench, server: HttpServer) -> None:
    async def created(request: web.Request) -> web.Response:
        return web.Response(status=201, text=JSON)

    server.answers["/made"] = created
    for path, status in (("/made", 201), ("/missing", 404)):
        metadata = ask(f"{server.url}{path}", authMode="apiKey", method="query")
        scaler = await bench.opened("metrics-api", metadata, auth={"apiKey": "s3cret"})
        with pytest.raises(ScalerError, match=f"^error requesting metrics endpoint: {path}: api returned {status}$"):
            await scaler.read()


@pytest.mark.parametrize("method", ["header", "query"])
async def test_an_api_key_follows_no_redirect_to_another_origin(bench: Bench, server: HttpServer, method: str) -> None:
    async def away(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"{other.url}{request.path_qs}"})

    async with http_server() as other:
        server.answers["/"] = away
        other.answers["/"] = JSON
        auth = {"apiKey": "s3cret", "method": method}
        scaler = await bench.opened("metrics-api", ask(server.url, authMode="apiKey"), auth=auth)
        with pytest.raises(ScalerError, match=f"redirected to {other.url}, another origin, where the") as refused:
            await scaler.read()
        assert "s3cret" not in str(refused.value)
        assert not other.asked
        assert (await (await bench.opened("metrics-api", ask(server.url))).read()).value == 2.43


async def test_user_and_password_in_an_address_are_sent_and_never_told(bench: Bench, server: HttpServer) -> None:
    async def guarded(request: web.Request) -> web.Response:
        believed = request.headers.get("Authorization") == "Basic bWU6czNjcmV0"
        return web.Response(text=JSON, status=200 if believed else 401)

    server.answers["/"] = guarded
    scaler = await bench.opened("metrics-api", ask(server.url.replace("://", "://me:s3cret@")))
    assert (await scaler.read()).value == 2.43
    scaler = await bench.opened("metrics-api", ask(server.url.replace("://", "://me:wr0ng@")))
    with pytest.raises(ScalerError, match="api returned 401") as refused:
        await scaler.read()
    assert "wr0ng" not in str(refused.value)


async def test_a_server_that_is_not_there(bench: Bench) -> None:
    metadata = ask("http://127.0.0.1:1/value", authMode="apiKey", method="query")
    scaler = await bench.opened("metrics-api", metadata, auth={"apiKey": "s3cret"})
    with pytest.raises(ScalerError, match=r'endpoint: Get "http://127\.0\.0\.1:1/value": ') as refused:
        await scaler.read()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("url", ["somewhere", "jobs:8080/x"])
async def test_a_text_that_is_no_address_is_an_error_when_it_is_asked(bench: Bench, url: str) -> None:
    scaler = await bench.opened("metrics-api", ask(url))
    with pytest.raises(ScalerError, match="http://"):
        await scaler.read()


async def test_a_time_out_of_zero_is_none_of_its_own(bench: Bench, server: HttpServer) -> None:
    server.answers["/value"] = '{"count": 3}'
    scaler = await bench.opened("metrics-api", ask(f"{server.url}/value", timeout="0"))
    assert scaler.timeout == scaler.context.http_timeout
    assert (await scaler.read()).value == 3


async def test_a_server_that_hangs(bench: Bench, silent_port: int) -> None:
    scaler = await bench.opened("metrics-api", ask(f"http://127.0.0.1:{silent_port}", timeout="100ms"))
    with pytest.raises(ScalerError, match=r"in time \(0\.1 s\)"):
        await scaler.read()


@pytest.mark.parametrize(("aggregation", "value"), [("average", 4.0), ("sum", 8.0), ("max", 6.0), ("min", 2.0)])
async def test_endpoints_of_a_service_are_aggregated(aggregation: str, value: float) -> None:
    counts = {"127.0.0.1": "2", "127.0.0.2": "6"}

    async def count(request: web.Request) -> web.Response:
        found = counts.get(request.url.host or "")
        return web.Response(text=f'{{"count": {found}}}') if found else web.Response(status=503)

    async with http_server(host="0.0.0.0") as server:  # any loopback address is an endpoint
        server.answers["/value"] = count
        slices = [
            endpoint_slice("jobs", ["127.0.0.1", "127.0.0.3"], port=server.port),  # 127.0.0.3 fails and is left out
            endpoint_slice("jobs", ["127.0.0.1", "127.0.0.2"], port=server.port),  # an endpoint twice counts once
            endpoint_slice("jobs", ["127.0.0.9"], port=server.port, ready=False),
            endpoint_slice("other", ["127.0.0.9"], port=server.port),
        ]
        async with shared_context(kube=Objects(endpointslices=slices)) as lent:
            bench = Bench(lent)
            metadata = ask(f"http://jobs.default.svc:{server.port}/value", aggregateFromKubeServiceEndpoints="true")
            scaler = await bench.opened("metrics-api", {**metadata, "aggregationType": aggregation})
            assert (await scaler.read()).value == value
            assert sorted(request.url.host or "" for request in server.asked) == [f"127.0.0.{i}" for i in (1, 2, 3)]
            await bench.aclose()


@pytest.mark.parametrize("host", ["jobs.bank", "jobs.bank.svc.cluster.local", "jobs..svc"])
async def test_the_endpoints_of_another_namespace_are_asked_only_where_that_is_allowed(host: str) -> None:
    async with http_server() as server:
        server.answers["/value"] = '{"count": 2}'
        slices = [endpoint_slice("jobs", ["127.0.0.1"], port=server.port)]
        slices[0]["metadata"]["namespace"] = "bank" if "bank" in host else ""
        metadata = ask(f"http://{host}:{server.port}/value", aggregateFromKubeServiceEndpoints="true")
        for reach, allowed in ((Reach(), False), (Reach(endpoints_of=frozenset({"bank"})), "bank" in host)):
            async with shared_context(kube=Objects(endpointslices=slices), reach=reach) as lent:
                bench = Bench(lent)
                scaler = await bench.opened("metrics-api", metadata)
                if allowed:
                    assert (await scaler.read()).value == 2
                else:
                    with pytest.raises(ScalerError, match='may not read endpointslices of namespace "(bank)?"'):
                        await scaler.read()
                await bench.aclose()
        assert len(server.asked) == ("bank" in host)


async def test_a_service_without_endpoints_and_one_whose_endpoints_all_fail_are_errors() -> None:
    metadata = ask("http://jobs.default.svc:1/value", aggregateFromKubeServiceEndpoints="true")
    kube = Objects()
    async with shared_context(kube=kube) as lent:
        bench = Bench(lent)
        scaler = await bench.opened("metrics-api", metadata)
        with pytest.raises(ScalerError, match="Service default/jobs has no ready endpoint"):
            await scaler.read()
        kube.by_resource["endpointslices"] = [endpoint_slice("jobs", ["127.0.0.1", "127.0.0.2"], port=1)]
        with pytest.raises(ScalerError, match="could not get any metric successfully from the 2 provided endpoints"):
            await scaler.read()
        await bench.aclose()


@pytest.mark.parametrize(
    ("metadata", "auth", "message"),
    [
        ({"valueLocation": "a", "targetValue": "1"}, {}, 'missing required parameter "url" in [triggerMetadata]'),
        ({"url": "http://a", "targetValue": "1"}, {}, 'missing required parameter "valueLocation" in'),
        ({"url": "http://a", "valueLocation": "a"}, {}, "no targetValue given: write a number above 0"),
        (ask("http://a", targetValue="0"), {}, 'targetValue: "0" is no target for an HPA: write a number above 0'),
        (ask("http://a", format="csv"), {}, 'format: "csv" is not allowed: write one of prometheus, json, xml, yaml'),
        (ask("http://a", aggregationType="mean"), {}, 'aggregationType: "mean" is not allowed'),
        (ask("http://a", aggregateFromKubeServiceEndpoints="true"), {}, "must begin with <service>.<namespace>"),
        (ask("http://a", authMode="apiKey"), {}, "authModes: apiKey needs apiKey"),
        (ask("http://a", authMode="apiKey", method="cookie"), {"apiKey": "x"}, 'method: "cookie" is not allowed'),
    ],
)
async def test_metadata_that_is_refused(bench: Bench, metadata: Any, auth: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("metrics-api", metadata, auth=auth)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("format", "location", "caution"),
    [
        ("json", "a.b", ""),
        ("json", "@reverse", 'valueLocation "@reverse" is not supported'),
        ("json", "a." * 1000, "a path of more than 1000 characters"),
        ("prometheus", 'a{b="c"}', ""),
        ("prometheus", "a{b", "is not a selector"),
        ("yaml", "@a", ""),
    ],
)
async def test_a_path_that_cannot_be_followed_is_accepted_with_a_caution(
    bench: Bench, format: str, location: str, caution: str
) -> None:
    cautions = bench.scaler("metrics-api", ask("http://a", location, format=format)).cautions
    assert caution in "".join(cautions)
    assert bool(caution) is bool(cautions)


async def test_under_a_formula_no_target_is_needed(bench: Bench) -> None:
    assert bench.scaler("metrics-api", {"url": "http://a", "valueLocation": "a"}, as_metric_source=True).target == 0


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(MetricsAPIScaler, Trigger(type="metrics-api", metadata=ask("http://a")), context)


async def test_a_question_takes_five_minutes_at_most_whatever_its_time_out_says(bench: Any, server: HttpServer) -> None:
    scaler = await bench.opened("metrics-api", ask(f"{server.url}/value", timeout="1h"))
    assert scaler.timeout == 300.0
