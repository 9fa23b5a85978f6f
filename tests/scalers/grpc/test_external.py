"""`external` and `external-push` against a server of their protocol."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import NothingResolved
from keda_py.core.spec import build_spec
from keda_py.errors import ConfigError, ScalerError
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk import registry
from keda_py.sdk.advanced import ExternalMetric
from keda_py.sdk.context import SharedContext
from keda_py.testing import as_secrets
from scalers.external import ExternalScaler
from scalers.external_push import ExternalPushScaler
from tests.certificates import Authority
from tests.scalers.grpc.conftest import External, RunExternal
from tests.scalers.recorded.metadata_cases import MetadataCase, recorded_types
from tests.waiting import eventually

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""


def on(external: External, **metadata: str) -> dict[str, str]:
    return {"scalerAddress": external.address, **metadata}


async def test_value_activity_and_target_are_what_the_server_says(bench: Any, external: External) -> None:
    external.values["jobs"] = [{"metricName": "x", "metricValue": 7}]
    scaler = await bench.opened("external", on(external))
    (spec,) = await scaler.specs()
    assert (spec, type(spec.target)) == (ExternalMetric(name="jobs", target=5), int)
    for active in (True, False):
        external.active = active
        reading = await scaler.read_metric(spec)
        assert (reading.value, reading.active) == (7.0, active)


async def test_several_metrics_are_read_by_name_and_floats_count_first(bench: Any, external: External) -> None:
    external.specs = [
        {"metricName": "a", "targetSize": 9, "targetSizeFloat": 2.5},
        {"metricName": "b", "targetSize": 1},
    ]
    external.values = {
        "a": [{"metricValue": 1, "metricValueFloat": 0.25}],
        "b": [{"metricValue": 2}, {"metricValueFloat": 0.5}],
    }
    scaler = await bench.opened("external", on(external))
    one, other = await scaler.specs()
    assert (one.target, other.target) == (2.5, 1)
    assert [(await scaler.read_metric(spec)).value for spec in (one, other)] == [0.25, 2.5]


async def test_the_server_is_told_all_metadata_and_what_variables_hold(bench: Any, external: External) -> None:
    metadata = on(external, shade=" blue ", nameFromEnv="SHADE", goneFromEnv="NOPE", enableTLS="false")
    scaler = await bench.opened("external", metadata, env={"SHADE": "deep"})
    await scaler.specs()
    (asked,) = external.asked
    assert (asked.name, asked.namespace) == ("app", "default")
    told = {"scalerAddress": external.address, "shade": " blue ", "nameFromEnv": "deep", "enableTLS": "false"}
    assert dict(asked.scalerMetadata) == told
    assert "deep" not in repr(scaler.metadata)


@pytest.mark.parametrize("trigger_type", ["external", "external-push"])
async def test_what_is_passed_on_is_as_recorded(bench: Any, trigger_type: str) -> None:
    for case in recorded_types()[trigger_type]:
        told = case.recorded.get("parsed", {}).get("_scalerMetadata")
        if told is not None and "error" not in case.recorded:
            given = case.recorded
            scaler = bench.scaler(trigger_type, given["metadata"], env=given.get("env", {}), auth=given.get("auth"))
            assert {key: text.get_secret_value() for key, text in scaler.metadata.passed.items()} == told, case.name


LISTED = {
    "server answers: neither": "An HPA takes no target of 0 or less.",
    "server answers: negative int": "An HPA takes no target of 0 or less.",
    "server answers: two metrics": "Every metric's name is normalised, this type's too.",
    "server answers: same name twice": "A metric by two targets is refused.",
    "server answers: empty name": "A metric has a name.",
    "server answers: none": "A trigger without a metric is refused.",
}


def recorded_answers(trigger_type: str) -> list[MetadataCase]:
    return [case for case in recorded_types()[trigger_type] if "server" in case.recorded]


@pytest.mark.parametrize("trigger_type", ["external", "external-push"])
async def test_metrics_are_those_of_recorded_answers(bench: Any, external: External, trigger_type: str) -> None:
    differing = set()
    for case in recorded_answers(trigger_type):
        external.specs = case.recorded["server"]
        if await case.difference(bench.lent, {"scalerAddress": external.address}):
            differing.add(case.name)
    assert differing == LISTED.keys() & {case.name for case in recorded_answers(trigger_type)}


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([], "GetMetricSpec has 0 metrics"),
        ([{"metricName": "a"}], 'metric "a" with target 0'),
        ([{"metricName": "a", "targetSize": -1}], "with target -1"),
        ([{"targetSize": 1}], 'metric ""'),
        ([{"metricName": "a", "targetSize": 1}] * 101, "has 101 metrics"),
    ],
)
async def test_metrics_that_an_hpa_cannot_use_are_an_error(
    bench: Any, external: External, specs: Any, message: str
) -> None:
    external.specs = specs
    with pytest.raises(ScalerError, match=message):
        await (await bench.opened("external", on(external))).specs()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff\xff", "the answer is no GetMetricsResponse"),
        (b"", 'GetMetrics has no value of "jobs"'),
        (b"\x0a\x00" * 40_000, "RESOURCE_EXHAUSTED"),
    ],
)
async def test_an_answer_that_does_not_tell_is_an_error(
    bench: Any, external: External, raw: bytes, message: str
) -> None:
    scaler = await bench.opened("external", on(external))
    (spec,) = await scaler.specs()
    external.raw = raw
    with pytest.raises(ScalerError, match=message):
        await scaler.read_metric(spec)


async def test_a_server_that_hangs_is_given_up(bench: Any, external: External) -> None:
    external.hangs = True
    scaler = await bench.opened("external", on(external), timeout=0.2)
    with pytest.raises(ScalerError, match=r"GetMetricSpec: DEADLINE_EXCEEDED"):
        await scaler.specs()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("20s", 20), ("30000", 30), ("10ms", 0.5), ("30", 0.5), ("forever", 0.5), ("0", 0.5), ("2h", 300)],
)
async def test_a_timeout_in_the_metadata_is_never_less_than_the_default_and_passed_on(
    bench: Any, external: External, said: str, seconds: float
) -> None:
    """A scaler may have a key of that name that means something else."""
    scaler = await bench.opened("external", on(external, timeout=said), timeout=0.5)
    assert scaler.timeout == seconds
    await scaler.specs()
    assert external.asked[-1].scalerMetadata["timeout"] == said


async def test_a_slow_server_is_waited_for_as_long_as_its_trigger_says(bench: Any, external: External) -> None:
    external.values["jobs"] = [{"metricName": "x", "metricValue": 7}]
    external.seconds = 0.4
    patient = await bench.opened("external", on(external, timeout="20s"), timeout=0.2)
    (jobs,) = await patient.specs()
    assert (await patient.read_metric(jobs)).value == 7
    hasty = await bench.opened("external", on(external), timeout=0.2)
    with pytest.raises(ScalerError, match=r"no answer in 0\.2 s"):
        await hasty.read_metric(jobs)


async def test_the_engine_waits_for_a_slow_server_from_the_build_on(lent: SharedContext, external: External) -> None:
    external.values["jobs"] = [{"metricName": "x", "metricValue": 7}]
    external.seconds = 0.8
    trigger = {"type": "external", "metadata": on(external, timeout="20s")}
    meta = {"name": "app", "namespace": "shop", "uid": "app", "generation": 1}
    body = {"metadata": meta, "spec": {"scaleTargetRef": {"name": "app"}, "triggers": [trigger]}}
    source = ScalerSource(
        shared_context=replace(lent, http_timeout=0.2), build=registry.build, resolver=NothingResolved()
    )
    async with asyncio.TaskGroup() as tasks:
        readings = Readings(scalers=source, tasks=tasks, on_reading=lambda key: None)
        spec = build_spec(ScaledObject.model_validate(body))
        await readings.build(spec)
        seen = await readings.poll(spec.key)
        await readings.aclose()
    assert seen is not None
    assert [getattr(one.outcome, "value", one.outcome) for one in seen.readings] == [7]


async def test_a_restarted_server_is_read_again(bench: Any, run_external: RunExternal) -> None:
    async with run_external() as external:
        scaler = await bench.opened("external", on(external))
        await scaler.specs()
    with pytest.raises(ScalerError, match="UNAVAILABLE"):
        await scaler.specs()
    async with run_external(port=int(external.address.rpartition(":")[2]), external=external), asyncio.timeout(10):
        while True:
            try:
                await scaler.specs()
                break
            except ScalerError:
                await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_tls_with_a_client_certificate(bench: Any, run_external: RunExternal) -> None:
    ours = Authority()
    server, client = ours.leaf("scaler"), ours.leaf("keda")
    pair = [(server.key.encode(), server.cert.encode())]
    credentials = grpc.ssl_server_credentials(pair, ours.cert.encode(), require_client_auth=True)
    auth = {"caCert": ours.cert, "tlsClientCert": client.cert, "tlsClientKey": client.key}
    async with run_external(credentials) as external:
        assert await (await bench.opened("external", on(external), auth=auth)).specs()
        for wrong in ({}, {"caCert": ours.cert}, {**auth, "caCert": Authority().cert}):
            with pytest.raises(ScalerError, match="UNAVAILABLE"):
                await (await bench.opened("external", on(external, enableTLS="true"), auth=wrong)).specs()


async def test_tls_without_verification_follows_a_replaced_certificate(bench: Any, run_external: RunExternal) -> None:
    def credentials() -> Any:
        leaf = Authority().leaf("scaler", hosts=("scaler.shop",))
        return grpc.ssl_server_credentials([(leaf.key.encode(), leaf.cert.encode())])

    async with run_external(credentials()) as external:
        scaler = await bench.opened("external", on(external, enableTLS="true", unsafeSsl="true"))
        assert await scaler.specs()
        strict = await bench.opened("external", on(external, enableTLS="true"))
        with pytest.raises(ScalerError, match="UNAVAILABLE"):
            await strict.specs()
    async with run_external(credentials(), port=int(external.address.rpartition(":")[2])), asyncio.timeout(10):
        while True:
            try:
                assert await scaler.specs()
                break
            except ScalerError:
                await asyncio.sleep(ASK_AGAIN_SECONDS)


@pytest.mark.parametrize(
    "address",
    ["unix:/run/containerd.sock", "unix:///x:1", "http://scaler:80", "xds:///a:1", ":6000", "a:b"]
    + ["unix:x:80", "unix-abstract:keda:80", "vsock:1:80", "::1:80"],
)
async def test_an_address_is_host_and_port(bench: Any, address: str) -> None:
    with pytest.raises(ConfigError, match="scalerAddress: .* is not host:port"):
        bench.scaler("external", {"scalerAddress": address})


@pytest.mark.parametrize(("address", "asked"), [("no.such.scaler", "no.such.scaler:443"), ("[::1]", "[::1]:443")])
async def test_an_address_without_a_port_is_asked_on_the_port_of_https(bench: Any, address: str, asked: str) -> None:
    with pytest.raises(ScalerError) as silent:
        await (await bench.opened("external", {"scalerAddress": address}, timeout=0.5)).specs()
    assert f"gRPC {asked} GetMetricSpec" in str(silent.value)


async def test_a_host_that_is_called_as_a_scheme_is_a_host(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heard = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))
        writer.close()

    async with await asyncio.start_unix_server(listen, "80"):
        with pytest.raises(ScalerError, match="gRPC unix:80 GetMetricSpec: (UNAVAILABLE|DEADLINE_EXCEEDED)"):
            await (await bench.opened("external", {"scalerAddress": "unix:80"}, timeout=0.5)).specs()
    assert not heard


async def test_a_stream_outlives_a_question_that_closes_its_connection(bench: Any, run_external: RunExternal) -> None:
    leaf = Authority().leaf("scaler", hosts=("scaler.shop",))
    credentials = grpc.ssl_server_credentials([(leaf.key.encode(), leaf.cert.encode())])
    async with run_external(credentials) as external, asyncio.timeout(60):
        scaler = await bench.opened("external-push", on(external, enableTLS="true", unsafeSsl="true"))
        stream = scaler.watch()
        external.told.put_nowait(True)
        assert await anext(stream) is True
        async with asyncio.TaskGroup() as tasks:
            heard = tasks.create_task(next_of(stream))
            external.refuses = True
            with pytest.raises(ScalerError, match="GetMetricSpec: UNAVAILABLE: not now"):
                await scaler.specs()
            await eventually(lambda: external.streams == 2)
            external.told.put_nowait(True)
        assert heard.result() is True
        await stream.aclose()


async def next_of(stream: AsyncIterator[bool]) -> bool:
    return await anext(stream)


async def test_half_a_client_certificate_is_refused(bench: Any, external: External) -> None:
    with pytest.raises(ConfigError, match="belong together"):
        await bench.opened("external", on(external), auth={"tlsClientCert": "x"})


async def test_triggers_on_one_server_share_a_connection_unless_a_certificate_is_theirs(bench: Any) -> None:
    address = {"scalerAddress": "scaler.shop:6000"}
    one, other = [(await bench.opened("external", address, namespace=name))._connection for name in ("a", "b")]
    assert one is other
    leaf = Authority().leaf("keda")
    auth = {"tlsClientCert": leaf.cert, "tlsClientKey": leaf.key}
    mine, yours = [
        (await bench.opened("external", address, auth=auth, namespace=name))._connection for name in ("a", "b")
    ]
    assert mine is not yours


async def test_what_the_server_tells_is_heard_and_the_stream_is_opened_again(bench: Any, external: External) -> None:
    scaler = await bench.opened("external-push", on(external))
    stream = scaler.watch()
    external.told.put_nowait(True)
    external.told.put_nowait(False)
    assert [await anext(stream), await anext(stream)] == [True, False]
    external.told.put_nowait(None)
    external.told.put_nowait(True)
    async with asyncio.timeout(10):
        assert await anext(stream) is True
    assert external.streams == 2
    await stream.aclose()


async def test_metrics_that_the_server_streams_are_heard_and_the_stream_is_opened_again(
    bench: Any, external: External
) -> None:
    external.tells_specs = True
    scaler = await bench.opened("external-push", on(external))
    stream = scaler.watch_specs()
    assert await anext(stream) == (ExternalMetric(name="jobs", target=5),)
    external.told_specs.put_nowait([{"metricName": "jobs", "targetSizeFloat": 2.5}])
    assert await anext(stream) == (ExternalMetric(name="jobs", target=2.5),)
    external.told_specs.put_nowait(None)
    async with asyncio.timeout(10):
        assert await anext(stream) == (ExternalMetric(name="jobs", target=2.5),)
    assert external.spec_streams == 2
    await stream.aclose()


async def test_a_server_that_does_not_stream_metrics_is_not_asked_again(bench: Any, external: External) -> None:
    scaler = await bench.opened("external-push", on(external))
    assert [specs async for specs in scaler.watch_specs()] == []
    assert scaler.watch_specs() is None
    assert external.spec_streams == 1


async def test_streamed_metrics_that_an_hpa_cannot_use_are_an_error(bench: Any, external: External) -> None:
    external.tells_specs, external.specs = True, [{"metricName": "a"}]
    scaler = await bench.opened("external-push", on(external))
    with pytest.raises(ScalerError, match='StreamMetricSpec has a metric "a" with target 0'):
        await anext(scaler.watch_specs())


async def test_external_does_not_listen(bench: Any, external: External) -> None:
    assert (await bench.opened("external", on(external))).watch() is None


@pytest.mark.parametrize(
    ("scaler", "trigger_type"), [(ExternalScaler, "external"), (ExternalPushScaler, "external-push")]
)
async def test_metadata_of_both_types_reads_alike(bench: Any, scaler: Any, trigger_type: str) -> None:
    metadata = scaler.metadata_model.parse({"scalerAddress": "a:1", "x": "y"}, as_secrets({}), as_secrets({}))
    assert metadata.unknown_keys({"x": "y"}) == ()
