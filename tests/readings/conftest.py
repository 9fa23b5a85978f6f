"""Triggers of a ScaledObject on sources that tests control, read by the real engine on a FakeClock."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import Resolved
from keda_py.clock import FakeClock
from keda_py.core.fallback import FallbackState
from keda_py.core.jobs.spec import build_job_spec
from keda_py.core.metric_specs import MetricSpec
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.net.secret_texts import EMPTY, as_secrets
from keda_py.readings.failures import Failures
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk.advanced import ScalerContext, Trigger, sharing_key
from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import AnyScaler
from keda_py.sdk.scaler import AUTH, Reading, Scaler, ScalerError, TriggerMetadata, sources
from keda_py.testing import shared_context

KEY = ObjectKey("ScaledObject", "shop", "app")


@dataclass
class Tap:
    """Source of one value with every kind of failure; counts its requests."""

    value: float | Reading | BaseException | object = 1.0
    hangs: bool = False
    reads: int = 0
    batches: list[int] = field(default_factory=list)
    batch_error: BaseException | None = None
    hanging_names: set[str] = field(default_factory=set)
    failing_names: set[str] = field(default_factory=set)
    open_scalers: int = 0
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    reading_now: int = 0
    most_at_once: int = 0
    pushed: asyncio.Queue[bool | Exception] = field(default_factory=asyncio.Queue)
    listeners: int = 0
    restated: asyncio.Queue[Sequence[MetricSpec] | Exception | None] = field(default_factory=asyncio.Queue)
    """Metrics that a stream tells next; None ends it."""
    spec_streams: int = 0


class TapMetadata(TriggerMetadata):
    tap: str
    item: str = "x"
    batch: str = ""
    idle: str = ""
    password: Annotated[str, sources(AUTH)] = ""
    activation: float = 0.0


class TapScaler(Scaler[TapMetadata]):
    """Scaler of a Tap."""

    taps: Mapping[str, Tap]

    def __init__(self, metadata: TapMetadata, context: ScalerContext, taps: Mapping[str, Tap]) -> None:
        super().__init__(metadata, context)
        self.tap = taps[metadata.tap]

    metric_name = property(lambda self: f"{self.metadata.tap}-{self.metadata.item}")
    target = property(lambda self: 5)
    activation = property(lambda self: self.metadata.activation)

    @property
    def batch_key(self):
        what, tenant = ("tap", self.metadata.tap), self.context.namespace
        return sharing_key(tenant, what, self.metadata.password) if self.metadata.batch else None

    async def open(self) -> None:
        self.tap.open_scalers += 1

    async def aclose(self) -> None:
        self.tap.open_scalers -= 1

    async def read(self, spec=None) -> Reading:
        tap = self.tap
        tap.reads += 1
        tap.reading_now += 1
        tap.most_at_once = max(tap.most_at_once, tap.reading_now)
        try:
            if tap.hangs or self.metadata.item in tap.hanging_names:
                await tap.flowing.wait()
            if self.metadata.item in tap.failing_names:
                raise ScalerError(f"{self.metadata.item} is broken")
            await asyncio.sleep(0)
        finally:
            tap.reading_now -= 1
        match tap.value:
            case BaseException():
                raise tap.value
            case float() | int():
                return Reading(value=tap.value)
            case answer:
                return answer  # type: ignore[return-value]

    async def read_batch(self, scalers):
        self.tap.batches.append(len(scalers))
        items = {scaler.metadata.item for scaler in scalers}
        if self.tap.hangs or items & self.tap.hanging_names:
            await self.tap.flowing.wait()
        if self.tap.batch_error:
            raise self.tap.batch_error
        return [
            ScalerError(f"{scaler.metadata.item} is broken")
            if scaler.metadata.item in self.tap.failing_names
            else Reading(value=float(self.tap.value))
            for scaler in scalers
        ]


class PlainScaler(TapScaler):
    """Scaler of a Tap whose `read` takes no metric."""

    async def read(self):
        return await super().read()

    async def read_batch(self, scalers):
        self.tap.batches.append(len(scalers))
        return


class PushScaler(TapScaler):
    """Scaler of a Tap with a push stream."""

    async def watch(self):
        self.tap.listeners += 1
        try:
            while True:
                active = await self.tap.pushed.get()
                if isinstance(active, Exception):
                    raise active
                yield active
        finally:
            self.tap.listeners -= 1

    @property
    def listens_at_zero_only(self):
        return bool(self.metadata.idle)


class RestatingScaler(TapScaler):
    """Scaler of a Tap with a stream of its metrics."""

    async def watch_specs(self):
        self.tap.spec_streams += 1
        while (specs := await self.tap.restated.get()) is not None:
            if isinstance(specs, Exception):
                raise specs
            yield specs


SCALERS = {"plain": PlainScaler, "push": PushScaler, "restating": RestatingScaler}


@dataclass
class Passwords:
    """Resolver whose answer tests can change, and delay for the objects named in `slow`."""

    auth: dict[str, str] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    answered: set[str] = field(default_factory=set)

    async def resolve(self, spec: ScalingSpec, trigger_index: int) -> Resolved:
        if spec.key.name in self.slow:
            self.asked.set()
            await self.answers.wait()
            self.answered.add(spec.key.name)
        return Resolved(auth=as_secrets(self.auth))


@dataclass
class ReplicaState:
    """State that all replicas share: failures in the status, and whether this one leads."""

    health: dict[str, FallbackState] = field(default_factory=dict)
    leads: bool = True


@dataclass
class Engine:
    """Engine with everything it needs."""

    clock: FakeClock
    readings: Readings
    taps: dict[str, Tap]
    resolver: Passwords
    told: list[ObjectKey]
    opened_with: list[str]
    shared: ReplicaState

    def spec(
        self, *triggers: Mapping[str, object], name: str = "app", generation: int = 1, **spec: object
    ) -> ScalingSpec:
        listed = [
            {"type": "tap", **trigger, "metadata": {"tap": "a", **trigger.get("metadata", {})}} for trigger in triggers
        ]
        meta = {"name": name, "namespace": "shop", "uid": name, "generation": generation}
        body = {"scaleTargetRef": {"name": "app"}, "triggers": listed or [{"type": "tap", "metadata": {"tap": "a"}}]}
        return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": {**body, **spec}}))

    async def build(self, *triggers: Mapping[str, object], **spec: object) -> ScalingSpec:
        built = self.spec(*triggers, **spec)
        await self.readings.build(built)
        return built

    async def build_job(self, name: str, **metadata: str) -> None:
        """Build a ScaledJob beside the ScaledObjects."""
        meta = {"name": name, "namespace": "shop", "uid": f"job {name}", "generation": 1}
        body = {"jobTargetRef": {"template": {}}, "triggers": [{"type": "tap", "metadata": metadata}]}
        await self.readings.build(build_job_spec(ScaledJob.model_validate({"metadata": meta, "spec": body})))

    async def outcomes(self, key: ObjectKey = KEY) -> Sequence[object]:
        return [reading.outcome for reading in (await self.readings.poll(key)).readings]


TIMEOUT = 0.1


@pytest.fixture
async def lent() -> AsyncIterator[SharedContext]:
    async with shared_context() as lent:
        yield lent


@pytest.fixture
async def engine(lent: SharedContext) -> AsyncIterator[Engine]:
    taps = {"a": Tap(), "b": Tap()}
    told: list[ObjectKey] = []
    opened_with: list[str] = []
    resolver = Passwords()

    def build(trigger: Trigger, context: ScalerContext) -> AnyScaler:
        opened_with.append(trigger.auth.get("password", EMPTY).get_secret_value())
        metadata = TapMetadata.parse(trigger.metadata, trigger.env, trigger.auth)
        return SCALERS.get(trigger.type, TapScaler)(metadata, context, taps)

    short = SharedContext(
        clock=lent.clock,
        http=lent.http,
        http_timeout=TIMEOUT,
        kube=lent.kube,
        tls=lent.tls,
        resources=lent.resources,
        answers=lent.answers,
        connections=lent.connections,
        identities=lent.identities,
    )
    async with asyncio.TaskGroup() as tasks:
        source = ScalerSource(shared_context=short, build=build, resolver=resolver)
        shared = ReplicaState()
        failures = Failures(lambda key: shared.health, lambda key: shared.leads)
        readings = Readings(scalers=source, tasks=tasks, on_reading=told.append, failures=failures)
        with readings.listening():
            yield Engine(lent.clock, readings, taps, resolver, told, opened_with, shared)
        await readings.aclose()
    assert sum(tap.open_scalers for tap in taps.values()) == 0
