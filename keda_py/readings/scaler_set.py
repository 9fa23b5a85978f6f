"""The scalers of one generation of one ScaledObject: built together, closed together, renewed one by one.

`readings/readings.py` builds a set when a spec is new and reads through it. A scaler is renewed after a failed reading
only when what its authentication and environment resolve to has changed: a rotated secret heals by itself, and a dead
source is not asked twice.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from keda_py.answers.tenants import acting_for
from keda_py.auth.resolver import Resolved, Resolver
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import MetricSpec
from keda_py.core.quarantine import Work, edition_of
from keda_py.core.spec import TriggersSpec
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey, check_sharing_key
from keda_py.readings.guard import guard
from keda_py.readings.journal import Journal
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.contract import Trigger
from keda_py.sdk.registry import AnyScaler
from keda_py.sdk.scaler_context import MetricType, ScalerContext

log = logging.getLogger(__name__)

GRACE_SECONDS = 0.25
"""A scaler that keeps its time-out itself says best what it waited for; the engine steps in this much later."""

BuildScaler = Callable[[Trigger, ScalerContext], AnyScaler]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerSource:
    """Where scalers come from; `keda_py.sdk.registry.build` is the usual `build`."""

    shared_context: SharedContext
    build: BuildScaler
    resolver: Resolver
    journal: Journal = field(default_factory=Journal.in_memory)
    zero_polling_interval: float = 0.0
    """Seconds between two questions about idle objects, 0: none; see `zero_polls.py`."""

    @property
    def timeout(self) -> float:
        """Seconds for each step of building."""
        return self.shared_context.http_timeout + GRACE_SECONDS

    async def open(self, spec: TriggersSpec, index: int) -> "OpenScaler":
        """Resolve, build and open the scaler of a trigger. Raises ConfigError or ScalerError."""
        trigger = spec.triggers[index]
        resolved = await self.resolve(spec, index)
        context = EngineContext(
            shared_context=self.shared_context,
            namespace=spec.namespace,
            scaled_object=spec.name,
            trigger_index=index,
            trigger_name=trigger.name,
            # Written by a user and checked by the scaler, or by `name_metrics`.
            metric_type=cast(MetricType, trigger.metric_type),
            as_metric_source=spec.modifiers is not None,
            pod_identity=resolved.pod_identity,
        )
        given = Trigger(type=trigger.type, metadata=trigger.metadata, env=resolved.env, auth=resolved.auth)
        what = f"opening scaler {trigger.type}"
        with acting_for(spec.namespace):
            scaler, seconds = await guard(self._build(given, context), self.timeout, what=what)
            return await guard(self._open(scaler, context, resolved), seconds, what=what)

    async def _build(self, trigger: Trigger, context: EngineContext) -> tuple[AnyScaler, float]:
        """The scaler, and the seconds that opening it may take: a server that answers slowly is slow to log in to."""
        scaler = self.build(trigger, context)
        return scaler, max(self.timeout, scaler.timeout + GRACE_SECONDS)

    async def _open(self, scaler: AnyScaler, context: EngineContext, resolved: Resolved) -> "OpenScaler":
        try:
            await scaler.open()
            if scaler.batch_key is not None:
                check_sharing_key(scaler.batch_key, "batch_key")
            return OpenScaler(
                scaler=scaler,
                context=context,
                resolved=resolved,
                batch_key=scaler.batch_key,
                activation=float(scaler.activation),
                timeout=scaler.longest_wait + scaler.timeout + GRACE_SECONDS,
            )
        except BaseException:
            await _close(scaler, context)
            raise

    async def resolve(self, spec: TriggersSpec, index: int) -> Resolved:
        """What the trigger is given besides its metadata. Raises ConfigError or ScalerError."""
        with acting_for(spec.namespace):
            return await guard(self.resolver.resolve(spec, index), self.timeout, what="resolving authentication")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenScaler:
    """A scaler in use, with what it was built from and what it says of itself once open."""

    scaler: AnyScaler
    context: EngineContext
    resolved: Resolved
    batch_key: SharingKey | None
    activation: float
    timeout: float

    async def aclose(self) -> None:
        """Close the scaler, then give back what it shared."""
        await _close(self.scaler, self.context)


async def _close(scaler: AnyScaler, context: EngineContext) -> None:
    """A scaler that fails to close is only told of."""
    for part in (scaler.aclose(), context.aclose()):
        try:
            await guard(part, context.http_timeout, what="closing a scaler")
        except (ConfigError, ScalerError) as error:
            log.warning("scaler did not close cleanly", extra={"error": str(error)})


class ScalerSet:
    """Scalers by trigger index, and the metrics they stand for. Made by `build_set`."""

    def __init__(
        self, spec: TriggersSpec, metrics: MetricSet, opened: Iterable[OpenScaler], source: ScalerSource
    ) -> None:
        self.spec, self.metrics = spec, metrics
        self.work = _work_on(spec)
        """How the journal calls reading it."""
        self._opened, self._source = list(opened), source
        counted = Counter(metric.trigger_index for metric in metrics.external)
        self._several = tuple(index for index, count in counted.items() if count > 1)
        self._renewing = asyncio.Lock()
        self.on_renewed: Callable[[int], None] | None = None
        """Told the index of a trigger whose scaler was replaced."""

    @property
    def scalers(self) -> tuple[AnyScaler, ...]:
        """In trigger order."""
        return tuple(opened.scaler for opened in self._opened)

    @property
    def batch_keys(self) -> tuple[SharingKey | None, ...]:
        """In trigger order."""
        return tuple(opened.batch_key for opened in self._opened)

    def batch_key(self, index: int) -> SharingKey | None:
        """That of a trigger; None for one of several metrics."""
        return None if index in self._several else self._opened[index].batch_key

    @property
    def stands_apart(self) -> bool:
        """Is it read by itself, because it was under way when a process died?"""
        return self.work.key in self._source.journal.apart

    def joined_key(self, index: int) -> SharingKey | None:
        """What a trigger is read by together with others, as it is now; None for one that is read by itself.

        That is one of several metrics, which `read_batch` cannot tell apart, and each of an object that stands apart.
        """
        return None if self.stands_apart else self.batch_key(index)

    def activation(self, index: int) -> float:
        """The value above which a trigger is active."""
        return self._opened[index].activation

    def timeout(self, index: int) -> float:
        """Seconds after which the engine ends a trigger's reading."""
        return self._opened[index].timeout

    def scaler(self, index: int) -> AnyScaler:
        """The scaler of a trigger as it is now."""
        return self._opened[index].scaler

    async def renew(self, index: int, failed: AnyScaler | None = None) -> bool:
        """Replace a scaler whose parameters resolve to something else now; False where nothing changed.

        `failed` is the one that could not read; a second caller finds another in its place.
        """
        async with self._renewing:
            old = self._opened[index]
            if failed not in (None, old.scaler):
                return True
            try:
                if await self._source.resolve(self.spec, index) == old.resolved:
                    return False
                self._opened[index] = await self._source.open(self.spec, index)
            except (ConfigError, ScalerError) as error:
                level = logging.WARNING if failed is None else logging.DEBUG
                log.log(level, "scaler cannot be renewed", extra={**self._names(index), "error": str(error)})
                return False
        log.info("scaler renewed with changed parameters", extra=self._names(index))
        if self.on_renewed is not None:
            self.on_renewed(index)
        await old.aclose()
        return True

    async def says_the_same(self) -> bool:
        """Do the scalers as they are now stand for the metrics of when the set was built?"""
        try:
            return name_metrics(self.spec, await _specs(self.spec, self._opened, self._source.timeout)) == self.metrics
        except (ConfigError, ScalerError):
            return False

    def _names(self, index: int) -> dict[str, object]:
        return self.spec.key.log_fields | {"trigger": index}

    async def aclose(self) -> None:
        """Close every scaler."""
        opened, self._opened = self._opened, []
        for one in opened:
            await one.aclose()


async def build_set(spec: TriggersSpec, source: ScalerSource) -> ScalerSet:
    """Open every trigger's scaler and name their metrics. Raises the first trigger's ConfigError or ScalerError.

    All or nothing: what was opened is closed again when one trigger fails.
    """
    outcomes: dict[int, OpenScaler | ConfigError | ScalerError] = {}
    try:
        async with asyncio.TaskGroup() as group:
            for index in range(len(spec.triggers)):
                group.create_task(_attempt(spec, index, source, outcomes))
        opened = _all_open([outcomes[index] for index in range(len(spec.triggers))])
        metrics = name_metrics(spec, await _specs(spec, opened, source.timeout))
    except BaseException:
        for outcome in outcomes.values():
            if isinstance(outcome, OpenScaler):
                await outcome.aclose()
        raise
    return ScalerSet(spec, metrics, opened, source)


async def _attempt(
    spec: TriggersSpec, index: int, source: ScalerSource, outcomes: dict[int, OpenScaler | ConfigError | ScalerError]
) -> None:
    try:
        outcomes[index] = await source.journal.run((_work_on(spec),), source.open(spec, index))
    except (ConfigError, ScalerError) as error:
        outcomes[index] = error


def _all_open(outcomes: Sequence[OpenScaler | ConfigError | ScalerError]) -> list[OpenScaler]:
    opened = []
    for outcome in outcomes:
        if not isinstance(outcome, OpenScaler):
            raise outcome
        opened.append(outcome)
    return opened


async def _specs(spec: TriggersSpec, opened: Sequence[OpenScaler], timeout: float) -> list[tuple[MetricSpec, ...]]:
    return [
        await guard(one.scaler.specs(), max(timeout, one.timeout), what=f"metrics of scaler {trigger.type}")
        for one, trigger in zip(opened, spec.triggers, strict=True)
    ]


def _work_on(spec: TriggersSpec) -> Work:
    return Work(spec.key, edition_of(spec.uid, spec.generation))
