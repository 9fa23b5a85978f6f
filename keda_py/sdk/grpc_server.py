"""Runs a scaler of this SDK as one of KEDA's external scalers, for KEDA itself or for another keda-py.

    python -m keda_py.sdk.grpc_server acme_queue:AcmeScaler --address 0.0.0.0:6000

A ScaledObject names it with a trigger of type `external` or `external-push` and `scalerAddress`; all other metadata is
the scaler's, `<key>FromEnv` too. KEDA passes on no TriggerAuthentication: what a scaler takes from there, it is given
as `auth`.
"""

import argparse
import asyncio
import importlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from keda_py.clock import SystemClock
from keda_py.core.metric_specs import ExternalMetric, MetricSpec
from keda_py.core.reading import Reading
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.secret_texts import Secrets, as_secrets
from keda_py.sdk import external_protocol as protocol
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.contract import Scaler
from keda_py.sdk.messages import REMEDY
from keda_py.sdk.offline import shared_context
from keda_py.sdk.registry import AnyScaler

_MOST_SCALERS = 10_000
# KEDA asks for value and activity one after the other: that is one reading.
_SHARED_SECONDS = 1.0
_FROM_ENV = "FromEnv"


@dataclass(slots=True, kw_only=True)
class _OpenTrigger:
    """One trigger's open scaler with its last readings."""

    scaler: AnyScaler
    context: EngineContext
    specs: tuple[ExternalMetric, ...] = ()
    readings: dict[str, tuple[float, Reading]] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self) -> None:
        """Raises ConfigError or ScalerError."""
        await self.scaler.open()
        self.restate(await self.scaler.specs())

    def restate(self, specs: Sequence[MetricSpec]) -> None:
        """Take the metrics. Raises ConfigError."""
        self.specs = tuple(spec for spec in specs if isinstance(spec, ExternalMetric))
        if len(self.specs) != len(specs):
            raise ConfigError(
                "metrics that an HPA reads by itself cannot be served: use the trigger types cpu and memory"
            )

    async def read(self, spec: ExternalMetric) -> Reading:
        """Read one metric, or share a reading that is under a second old. Raises ScalerError."""
        now = asyncio.get_running_loop().time
        async with self.lock:
            at, reading = self.readings.get(spec.name, (-_SHARED_SECONDS, Reading(value=0.0)))
            if now() - at >= _SHARED_SECONDS:
                reading = await self.scaler.read_metric(spec)
                self.readings[spec.name] = now(), reading
            return reading

    async def is_active(self) -> bool:
        """Whether any metric is above the activation value, or says that it is active."""
        readings = [await self.read(spec) for spec in self.specs]
        return any(one.value > self.scaler.activation if one.active is None else one.active for one in readings)

    async def aclose(self) -> None:
        """Give everything back."""
        await self.scaler.aclose()
        await self.context.aclose()


class ExternalScalers:
    """Answers KEDA's questions with scalers of one class, one for each trigger that asks."""

    def __init__(
        self, scaler: type[AnyScaler], shared: SharedContext, *, auth: Secrets | None = None, interval: float = 5.0
    ) -> None:
        """`interval`: seconds between two readings for a stream, where the scaler has none of its own."""
        self._class, self._shared, self._auth, self._interval = scaler, shared, auth or {}, interval
        self._open: OrderedDict[object, _OpenTrigger] = OrderedDict()
        self._opening: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def specs(self, question: Any) -> Any:
        """Answer GetMetricSpec with the scaler's specs."""
        return _specs(await self._of(question))

    async def stream_specs(self, question: Any) -> AsyncIterator[Any]:
        """Answer StreamMetricSpec with the specs, and again whenever the scaler tells others.

        Raises NotImplementedError at once for a scaler that tells none.
        """
        found = await self._of(question)
        if (stream := found.scaler.watch_specs()) is None:
            raise NotImplementedError
        yield _specs(found)
        async for specs in stream:
            found.restate(specs)  # KEDA asks GetMetricSpec after a restart, which has to answer the same
            yield _specs(found)

    async def metrics(self, question: Any) -> Any:
        """Answer GetMetrics with one reading. Raises ConfigError for a metric that the scaler does not have."""
        found = await self._of(question.scaledObjectRef)
        spec = next((one for one in found.specs if one.name == question.metricName), None)
        if spec is None:
            raise ConfigError(f'no metric "{question.metricName}"')
        value = (await found.read(spec)).value
        document = {"metricName": spec.name, "metricValue": int(value), "metricValueFloat": value}
        return protocol.messages()["GetMetricsResponse"](metricValues=[document])

    async def is_active(self, question: Any) -> Any:
        """Answer IsActive."""
        return _activity(await (await self._of(question)).is_active())

    async def stream(self, question: Any) -> AsyncIterator[Any]:
        """Answer StreamIsActive with the scaler's own stream, or with each change that polls find."""
        found, last = await self._of(question), None
        if type(found.scaler).watch is not Scaler.watch and (stream := found.scaler.watch()) is not None:
            async for active in stream:
                yield _activity(active)
            return
        while True:
            active = await found.is_active()
            if active != last:
                yield _activity(active)
            last = active
            await asyncio.sleep(self._interval)

    async def _of(self, reference: Any) -> _OpenTrigger:
        """Return the trigger's scaler, opened at its first question; a source that hangs delays no other trigger."""
        metadata = dict(reference.scalerMetadata)
        key = (reference.namespace, reference.name, frozenset(metadata.items()))
        async with self._opening.setdefault(key, asyncio.Lock()):
            if key not in self._open:
                self._open[key] = await self._make(reference, metadata)
            found = self._open[key]
            self._open.move_to_end(key)
            # KEDA never says that a trigger is gone, so the one that asked least recently makes room.
            while len(self._open) > _MOST_SCALERS:
                await self._open.popitem(last=False)[1].aclose()
            return found

    async def _make(self, reference: Any, metadata: Mapping[str, str]) -> _OpenTrigger:
        # KEDA has resolved `tokenFromEnv`: its text is the value, which is looked up under the key's own name.
        env = {key: text for key, text in metadata.items() if key.endswith(_FROM_ENV)}
        keys = {key: key if key in env else text for key, text in metadata.items()}
        context = EngineContext(
            shared_context=self._shared,
            namespace=reference.namespace,
            scaled_object=reference.name,
            trigger_index=0,
        )
        parsed = self._class.metadata_model.parse(keys, as_secrets(env), self._auth)
        made = _OpenTrigger(scaler=self._class(parsed, context), context=context)
        try:
            await made.open()
        except BaseException:
            await made.aclose()
            raise
        return made

    async def aclose(self) -> None:
        """Close every scaler."""
        while self._open:
            await self._open.popitem()[1].aclose()


def _specs(found: _OpenTrigger) -> Any:
    told = [
        {"metricName": spec.name, "targetSize" if isinstance(spec.target, int) else "targetSizeFloat": spec.target}
        for spec in found.specs
    ]
    return protocol.messages()["GetMetricSpecResponse"](metricSpecs=told)


def _activity(active: bool) -> Any:
    return protocol.messages()["IsActiveResponse"](result=active)


def add_to(server: Any, scalers: ExternalScalers) -> None:
    """Register the five methods at a server of grpc.aio."""
    import grpc

    classes = protocol.messages()
    reference, metrics = classes["ScaledObjectRef"].FromString, classes["GetMetricsRequest"].FromString
    encode = _encode
    one = partial(grpc.unary_unary_rpc_method_handler, response_serializer=encode)
    many = partial(grpc.unary_stream_rpc_method_handler, request_deserializer=reference, response_serializer=encode)
    methods = {
        protocol.IS_ACTIVE: one(_answering(scalers.is_active), request_deserializer=reference),
        protocol.GET_METRIC_SPEC: one(_answering(scalers.specs), request_deserializer=reference),
        protocol.GET_METRICS: one(_answering(scalers.metrics), request_deserializer=metrics),
        protocol.STREAM_IS_ACTIVE: many(partial(_streaming, scalers.stream)),
        protocol.STREAM_METRIC_SPEC: many(partial(_streaming, scalers.stream_specs)),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(protocol.SERVICE, methods),))


def _encode(message: Any) -> bytes:
    encoded: bytes = message.SerializeToString()
    return encoded


def _answering(answer: Callable[[Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
    async def asked(question: Any, context: Any) -> Any:
        async with _as_status(context):
            return await answer(question)

    return asked


async def _streaming(answers: Callable[[Any], AsyncIterator[Any]], question: Any, context: Any) -> AsyncIterator[Any]:
    async with _as_status(context):
        async for message in answers(question):
            yield message


@asynccontextmanager
async def _as_status(context: Any) -> AsyncIterator[None]:
    """Turn errors of a scaler into gRPC statuses with their text."""
    import grpc

    try:
        yield
        return
    except ConfigError as error:
        code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
    except ScalerError as error:
        code, text = grpc.StatusCode.UNAVAILABLE, str(error)
    except NotImplementedError:
        code, text = grpc.StatusCode.UNIMPLEMENTED, "this scaler does not stream its metrics"
    await context.abort(code, text)


async def serve(scaler: type[AnyScaler], address: str, credentials: Any = None, auth: Secrets | None = None) -> None:
    """Serve until cancelled. `credentials` are those of `grpc.ssl_server_credentials`; None: plain text."""
    import grpc.aio

    async with shared_context(clock=SystemClock()) as shared:
        server, scalers = grpc.aio.server(), ExternalScalers(scaler, shared, auth=auth)
        add_to(server, scalers)
        server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        try:
            await server.start()
            await server.wait_for_termination()
        finally:
            await server.stop(1)
            await scalers.aclose()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments of the command, and serve."""
    parser = argparse.ArgumentParser(prog="python -m keda_py.sdk.grpc_server", description=__doc__)
    parser.add_argument("scaler", help="module and class, such as acme_queue:AcmeScaler")
    parser.add_argument("--address", default="0.0.0.0:6000", help="where to listen (default %(default)s)")
    parser.add_argument("--tls-cert", help="PEM file: serve TLS with this certificate")
    parser.add_argument("--tls-key", help="PEM file: its key")
    parser.add_argument("--client-ca", help="PEM file: ask clients for a certificate of this authority")
    given = parser.parse_args(arguments)
    if bool(given.tls_cert) != bool(given.tls_key) or (given.client_ca and not given.tls_cert):
        parser.error("--tls-cert and --tls-key belong together, and --client-ca needs both: else all is plain text")
    try:
        import grpc
    except ImportError:
        parser.error(f"gRPC needs libraries that are not installed: {REMEDY}")
    module, _, name = given.scaler.partition(":")
    credentials = None
    if given.tls_cert:
        pair = (Path(given.tls_key).read_bytes(), Path(given.tls_cert).read_bytes())
        ca = Path(given.client_ca).read_bytes() if given.client_ca else None
        credentials = grpc.ssl_server_credentials([pair], ca, require_client_auth=ca is not None)
    asyncio.run(serve(getattr(importlib.import_module(module), name), given.address, credentials))


if __name__ == "__main__":
    main()
