"""`prometheus` against a real Prometheus, and against servers that misbehave."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity, Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.prometheus import PrometheusScaler
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.scalers.prometheus.queries import VECTOR, ask


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("vector(42)", 42),
        ("vector(0.25)", 0.25),
        ("vector(-3)", -3),
        ("sum(vector(1)) + 1", 2),
        ("time()  * 0 + vector(time())", 1795240560),
    ],
)
async def test_the_value_of_a_query(bench: Any, prometheus_url: str, query: str, value: float) -> None:
    scaler = await bench.opened("prometheus", ask(prometheus_url, query))
    assert (await scaler.read()).value == value


@pytest.mark.parametrize("query", ["absent(vector(1))", "vector(0)/0", "vector(1)/0", "-vector(1)/0"])
async def test_an_empty_answer_and_no_number_count_as_zero_unless_told_otherwise(
    bench: Any, prometheus_url: str, query: str
) -> None:
    reading = await (await bench.opened("prometheus", ask(prometheus_url, query))).read()
    assert (reading.value, reading.active) == (0.0, None)
    assert "counts as 0" in reading.note
    strict = await bench.opened("prometheus", ask(prometheus_url, query, ignoreNullValues="false"))
    with pytest.raises(ScalerError, match="ignoreNullValues is false"):
        await strict.read()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('vector(1) or label_replace(vector(2), "a", "b", "", "")', "returned multiple elements"),
        ("vector(1)[5m:1m]", "returned something else than a vector"),
        ("scalar(vector(1))", "returned something else than a vector"),
        ("sum(", "status: 400"),
    ],
)
async def test_a_query_that_does_not_answer_one_value(
    bench: Any, prometheus_url: str, query: str, message: str
) -> None:
    scaler = await bench.opened("prometheus", ask(prometheus_url, query))
    with pytest.raises(ScalerError, match=message):
        await scaler.read()


async def test_metric_target_and_activation(bench: Any) -> None:
    scaler = bench.scaler("prometheus", ask("http://p", threshold="0.25", activationThreshold="-1"))
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("prometheus", 0.25, -1.0)


async def test_what_is_sent(bench: Any, server: HttpServer) -> None:
    server.answers["/prom/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
    metadata = ask(
        f"{server.url}/prom/",
        'sum(rate(x{a="b"}[1m]))',
        namespace="shop",
        queryParameters="partial_response=true, dedup = a=b",
        customHeaders="X-Scope-OrgID=tenant,X-Other=dG9rZW4=",
    )
    scaler = await bench.opened("prometheus", metadata)
    assert (await scaler.read()).value == 7
    (request,) = server.asked
    assert dict(request.query) == {
        "query": 'sum(rate(x{a="b"}[1m]))',
        "time": "2026-11-21T05:56:00Z",
        "namespace": "shop",
        "partial_response": "true",
        "dedup": "a=b",
    }
    assert (request.headers["X-Scope-OrgID"], request.headers["X-Other"]) == ("tenant", "dG9rZW4=")
    assert "Authorization" not in request.headers


@pytest.mark.parametrize(
    ("modes", "auth", "header", "value"),
    [
        ("bearer", {"bearerToken": "s3cret"}, "Authorization", "Bearer s3cret"),
        ("bearer", {"token": "s3cret"}, "Authorization", "Bearer s3cret"),
        ("basic", {"username": "me", "password": "s3cret"}, "Authorization", "Basic bWU6czNjcmV0"),
        ("basic", {"username": "me"}, "Authorization", "Basic bWU6"),
        ("custom", {"customAuthHeader": "X-Key", "customAuthValue": "s3cret"}, "X-Key", "s3cret"),
    ],
)
async def test_auth_modes(
    bench: Any, server: HttpServer, modes: str, auth: dict[str, str], header: str, value: str
) -> None:
    server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
    for metadata, more in ((ask(server.url, authModes=modes), {}), (ask(server.url), {"authModes": modes})):
        scaler = await bench.opened("prometheus", metadata, auth={**auth, **more})
        await scaler.read()
    assert [request.headers[header] for request in server.asked] == [value, value]


async def test_a_client_certificate_and_an_authority_of_ones_own(bench: Any, tmp_path: Path) -> None:
    ours = Authority()
    pair = ours.leaf("keda")
    async with http_server(ours.server_context(tmp_path, wants_client=True)) as server:
        server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
        auth = {"cert": pair.cert, "key": pair.key, "ca": ours.cert}
        scaler = await bench.opened("prometheus", ask(server.url, authModes="tls"), auth=auth)
        assert (await scaler.read()).value == 7
        stranger = await bench.opened("prometheus", ask(server.url))
        with pytest.raises(ScalerError, match=r"TLS: .*certificate verify failed"):
            await stranger.read()
        # KEDA's own transport for a certificate verifies, whatever unsafeSsl says.
        auth_without_ca = {"cert": pair.cert, "key": pair.key}
        metadata = ask(server.url, authModes="tls", unsafeSsl="true")
        careless = await bench.opened("prometheus", metadata, auth=auth_without_ca)
        with pytest.raises(ScalerError, match="certificate verify failed"):
            await careless.read()


async def test_unsafe_ssl_believes_any_certificate(bench: Any, tmp_path: Path) -> None:
    async with http_server(Authority().server_context(tmp_path)) as server:
        server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
        scaler = await bench.opened("prometheus", ask(server.url, unsafeSsl="true"))
        assert (await scaler.read()).value == 7


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "something else than a vector"),
        ("[]", "something else than a vector"),
        ('{"status":"success"}', "something else than a vector"),
        (VECTOR % '{"value":[1]}', "didn't return enough values"),
        (VECTOR % '{"value":[1,"many"]}', "is not a number"),
        (VECTOR % '{"value":[1," 1"]}', "is not a number"),
        (VECTOR % '{"value":[1,"1e400"]}', "is not a number"),
        (VECTOR % '{"value":[1,2]}', "is not text"),
    ],
)
async def test_an_answer_of_another_shape_is_an_error(bench: Any, server: HttpServer, body: str, message: str) -> None:
    server.answers["/api/v1/query"] = body
    with pytest.raises(ScalerError, match=message):
        await (await bench.opened("prometheus", ask(server.url))).read()


@pytest.mark.parametrize("result", ["null", "[]", '[{"value":null}]', '[{"value":[]}]'])
async def test_nothing_is_written_in_several_ways(bench: Any, server: HttpServer, result: str) -> None:
    server.answers["/api/v1/query"] = f'{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}'
    reading = await (await bench.opened("prometheus", ask(server.url))).read()
    assert (reading.value, reading.empty) == (0.0, True)


async def test_a_null_value_counts_as_minus_one(bench: Any, server: HttpServer) -> None:
    server.answers["/api/v1/query"] = VECTOR % '{"value":[1,null]}'
    assert (await (await bench.opened("prometheus", ask(server.url))).read()).value == -1


async def test_a_server_that_is_not_there_is_named_without_its_credentials(bench: Any) -> None:
    scaler = await bench.opened("prometheus", ask("http://me:s3cret@127.0.0.1:1"))
    with pytest.raises(ScalerError) as refused:
        await scaler.read()
    assert str(refused.value).startswith('Get "http://127.0.0.1:1/api/v1/query": ')
    assert "s3cret" not in str(refused.value)


async def test_a_server_that_hangs_is_given_up_after_the_triggers_own_time_out(bench: Any, silent_port: int) -> None:
    scaler = await bench.opened("prometheus", ask(f"http://127.0.0.1:{silent_port}", timeout="100"))
    with pytest.raises(ScalerError, match=r"in time \(0\.1 s\)"):
        await scaler.read()


async def test_a_failing_server_is_an_error(bench: Any, server: HttpServer) -> None:
    async def fail(request: web.Request) -> web.Response:
        return web.Response(status=500, text="s3cret")

    server.answers["/api/v1/query"] = fail
    with pytest.raises(ScalerError, match=r"status: 500$"):
        await (await bench.opened("prometheus", ask(server.url))).read()


async def test_a_prometheus_that_has_moved_is_followed_without_credentials_only(bench: Any, server: HttpServer) -> None:
    async def away(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"{other.url}{request.path_qs}"})

    async with http_server() as other:
        server.answers["/api/v1/query"] = away
        other.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
        assert (await (await bench.opened("prometheus", ask(server.url))).read()).value == 7
        answered = len(other.asked)
        with_key = ask(server.url, authModes="custom")
        key = {"customAuthHeader": "X-Key", "customAuthValue": "s3cret"}
        for metadata, auth in (
            (with_key, key),
            (ask(server.url, customHeaders="X-Key=s3cret"), {}),
            (ask(server.url, queryParameters="token=s3cret"), {}),
            (ask(f"{server.url}/api/v1/query?token=s3cret&path="), {}),
            (ask(server.url.replace("://", "://me:s3cret@")), {}),
        ):
            scaler = await bench.opened("prometheus", metadata, auth=auth)
            with pytest.raises(ScalerError, match=f"redirected to {other.url}, another origin") as refused:
                await scaler.read()
            assert "s3cret" not in str(refused.value)
        assert len(other.asked) == answered


@pytest.mark.parametrize(
    ("metadata", "auth", "message"),
    [
        (
            {"serverAddress": "http://p", "threshold": "5"},
            {},
            'missing required parameter "query" in [triggerMetadata]',
        ),
        (
            {"serverAddress": "http://p", "query": "up"},
            {},
            'missing required parameter "threshold" in [triggerMetadata]',
        ),
        (ask("http://p", threshold="many"), {}, 'threshold: "many" is not a number'),
        (ask("http://p", threshold="0"), {}, 'threshold: "0" is no target'),
        (ask("http://p", timeout="-1s"), {}, 'timeout: "-1s" is negative'),
        (ask("http://p", authModes="basic"), {}, "authModes: basic needs username"),
        (ask("http://p", authModes="bearer"), {}, "authModes: bearer needs bearerToken"),
        (ask("http://p", authModes="tls"), {"cert": "x"}, "authModes: tls needs key"),
        (ask("http://p", authModes="custom"), {}, "authModes: custom needs customAuthHeader and customAuthValue"),
        (ask("http://p", authModes="basic,bearer"), {"username": "a", "token": "b"}, "exclude each other"),
        (ask("http://p", authModes="ntlm"), {}, "authModes: ntlm is not allowed: use apiKey, basic, tls"),
        (ask("http://p", authModes="tls"), {"cert": "x", "key": "y"}, "cert: is not a PEM certificate"),
        (ask("http://p"), {"ca": "x"}, "ca: is not a PEM certificate"),
    ],
)
async def test_metadata_that_is_refused(bench: Any, metadata: Any, auth: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("prometheus", metadata, auth=auth)
    assert str(refused.value).startswith("error parsing prometheus metadata: ")
    assert message in str(refused.value)


async def test_auth_modes_and_pod_identity_exclude_each_other(bench: Any) -> None:
    metadata = ask("http://p", authModes="bearer")
    with pytest.raises(ConfigError, match="cannot be combined with podIdentity aws"):
        bench.scaler("prometheus", metadata, auth={"token": "x"}, pod_identity=PodIdentity(provider="aws"))


async def test_triggers_with_the_same_tls_share_a_context(bench: Any) -> None:
    ours = Authority()
    contexts: list[ssl.SSLContext] = [
        bench.scaler("prometheus", ask("http://p"), auth={"ca": ours.cert})._tls for _ in range(2)
    ]
    assert contexts[0] is contexts[1]


async def test_the_contract_is_kept(bench: Any) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(PrometheusScaler, Trigger(type="prometheus", metadata=ask("http://p")), context)
