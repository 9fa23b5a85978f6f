"""A scaler of the SDK, served as an external scaler and asked by the trigger types that ask those."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import grpc.aio
import pytest
from pydantic import SecretStr

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import ExternalMetric, ResourceMetric, Trigger
from keda_py.sdk.context import EngineContext
from keda_py.sdk.external_protocol import messages
from keda_py.sdk.grpc_server import ExternalScalers, add_to, main
from keda_py.sdk.registry import AnyScaler, build
from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, TriggerMetadata, sources
from keda_py.testing import as_secrets, shared_context
from tests.servers import free_port, running


class ShelfMetadata(TriggerMetadata):
    shelf: str
    token: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")
    per_replica: float = 2.5


class ShelfScaler(Scaler[ShelfMetadata]):
    """Counts how often it is read, and tells the length of its token."""

    reads = 0
    value = 7.5
    closed = 0

    @property
    def metric_name(self) -> str:
        return f"shelf-{self.metadata.shelf}"

    @property
    def target(self) -> float:
        return self.metadata.per_replica

    @property
    def activation(self) -> float:
        return 5.0

    async def specs(self) -> tuple[ExternalMetric, ...]:
        if self.metadata.shelf == "top":
            raise ScalerError("the shelf is too high")
        whole = ExternalMetric(name="tokens", target=3)
        return (*await super().specs(), whole)  # type: ignore[return-value]

    async def read(self, spec: ExternalMetric | None = None) -> Reading:
        type(self).reads += 1
        if spec is not None and spec.name == "tokens":
            return Reading(value=len(self.metadata.token.get_secret_value()), active=False)
        return Reading(value=self.value)

    async def aclose(self) -> None:
        type(self).closed += 1


class PushingShelfScaler(ShelfScaler):
    async def watch(self) -> AsyncIterator[bool]:
        for active in (True, False):
            yield active


class RestatingShelfScaler(ShelfScaler):
    async def watch_specs(self) -> AsyncIterator[tuple[ExternalMetric, ...]]:
        yield (ExternalMetric(name="shelf-low", target=4),)


@asynccontextmanager
async def asked(trigger_type: str, scaler: type[AnyScaler], **metadata: str) -> AsyncIterator[AnyScaler]:
    """The trigger of that type, opened, on a server of that scaler."""
    async with shared_context() as lent:
        server, scalers = grpc.aio.server(), ExternalScalers(scaler, lent, interval=0.01)
        add_to(server, scalers)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        given = {"scalerAddress": f"127.0.0.1:{port}", "shelf": "low", **metadata}
        trigger = Trigger(type=trigger_type, metadata=given, env=as_secrets({"TOKEN": "secret"}))
        made = build(trigger, context)
        try:
            await made.open()
            yield made
        finally:
            await made.aclose()
            await context.aclose()
            await server.stop(None)
            await scalers.aclose()


async def test_metrics_values_and_activity_are_the_scalers() -> None:
    async with asked("external", ShelfScaler, tokenFromEnv="TOKEN") as scaler:
        shelf, tokens = await scaler.specs()
        assert (shelf, tokens) == (
            ExternalMetric(name="shelf-low", target=2.5),
            ExternalMetric(name="tokens", target=3),
        )
        before = ShelfScaler.reads
        reading = await scaler.read_metric(shelf)
        assert (reading.value, reading.active) == (7.5, True)
        assert (await scaler.read_metric(tokens)).value == len("secret")
        assert ShelfScaler.reads == before + 2  # value and activity of both metrics are one reading each
        closed = ShelfScaler.closed
    assert ShelfScaler.closed == closed + 1


@pytest.mark.parametrize(
    ("metadata", "message"),
    [({"shelf": ""}, "INVALID_ARGUMENT: .*shelf"), ({"shelf": "top"}, "UNAVAILABLE: .*too high")],
)
async def test_errors_of_the_scaler_are_told(metadata: Any, message: str) -> None:
    async with asked("external", ShelfScaler, **metadata) as scaler:
        with pytest.raises(ScalerError, match=message):
            await scaler.specs()


async def test_changes_of_activity_are_streamed() -> None:
    class Falling(ShelfScaler):
        @property
        def activation(self) -> float:
            return float(type(self).reads)

    Falling.reads = 0
    async with asked("external-push", Falling) as scaler, asyncio.timeout(10):
        stream = scaler.watch()
        assert stream is not None
        assert await anext(stream) is True
        assert await anext(stream) is False
        await stream.aclose()  # type: ignore[attr-defined]


async def test_a_scaler_that_pushes_is_streamed_as_it_is() -> None:
    async with asked("external-push", PushingShelfScaler) as scaler, asyncio.timeout(10):
        stream = scaler.watch()
        assert stream is not None
        assert [await anext(stream), await anext(stream)] == [True, False]
        await stream.aclose()  # type: ignore[attr-defined]


async def test_a_stream_of_metrics_begins_with_what_they_are_and_the_answers_follow_it() -> None:
    async with asked("external-push", RestatingShelfScaler) as scaler, asyncio.timeout(10):
        stream = scaler.watch_specs()
        assert stream is not None
        first, second = await anext(stream), await anext(stream)
        assert [[spec.target for spec in specs] for specs in (first, second)] == [[2.5, 3], [4]]  # type: ignore[union-attr]
        assert await scaler.specs() == second
        await stream.aclose()  # type: ignore[attr-defined]
    async with asked("external-push", ShelfScaler) as scaler, asyncio.timeout(10):
        assert [specs async for specs in scaler.watch_specs() or ()] == []  # type: ignore[union-attr]
        assert scaler.watch_specs() is None


async def test_the_command_serves_a_class_by_name(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "keda_py.sdk.grpc_server", "scalers.kubernetes_workload:KubernetesWorkloadScaler"]
    with running([*command, "--address", f"127.0.0.1:{port}"], port, tmp_path / "log"):
        async with shared_context() as lent:
            context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
            metadata = {"scalerAddress": f"127.0.0.1:{port}", "podSelector": "app=a", "value": "4"}
            scaler = build(Trigger(type="external", metadata=metadata), context)
            await scaler.open()
            (spec,) = await scaler.specs()
            assert isinstance(spec, ExternalMetric)
            assert spec.target == 4
            await scaler.aclose()
            await context.aclose()


async def test_a_resource_metric_cannot_be_served() -> None:
    class CpuShelf(ShelfScaler):
        async def specs(self) -> Any:
            return (ResourceMetric(name="cpu", target_type="Utilization", target="50"),)

    async with asked("external", CpuShelf) as scaler:
        with pytest.raises(ScalerError, match="use the trigger types cpu and memory"):
            await scaler.specs()


async def test_a_trigger_whose_source_hangs_holds_up_no_other() -> None:
    hanging = asyncio.Event()

    class SlowShelfScaler(ShelfScaler):
        async def open(self) -> None:
            if self.metadata.shelf == "slow":
                hanging.set()
                await asyncio.get_running_loop().create_future()

    def question(shelf: str) -> Any:
        metadata = {"shelf": shelf}
        return messages()["ScaledObjectRef"](name="app", namespace="shop", scalerMetadata=metadata)

    async with shared_context() as lent, asyncio.TaskGroup() as tasks:
        scalers = ExternalScalers(SlowShelfScaler, lent)
        slow = tasks.create_task(scalers.is_active(question("slow")))
        await hanging.wait()
        async with asyncio.timeout(10):
            assert (await scalers.is_active(question("low"))).result
        slow.cancel()
        await scalers.aclose()


@pytest.mark.parametrize(
    "flags",
    [["--client-ca", "ca.pem"], ["--tls-cert", "tls.pem"], ["--tls-key", "key.pem"]],
)
def test_half_of_the_settings_of_tls_is_refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["shelf:ShelfScaler", *flags])
    assert "belong together" in capsys.readouterr().err
