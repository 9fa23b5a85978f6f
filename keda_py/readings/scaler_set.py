"""Scalers of one generation of one object: built together, closed together, renewed one by one.

`readings/readings.py` builds a set when a spec is new and reads through it. A scaler is renewed after a failed reading
only if its authentication and environment resolve to other values: a rotated secret heals by itself, and a dead source
is not asked twice.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from keda_py.answers.work_context import working
from keda_py.auth.resolver import Resolved, Resolver
from keda_py.core.metric_names import MetricSet, name_metrics, restate_metrics
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

# Seconds added to a scaler's time-out: its own error tells best what it waited for, so the engine's comes later.
GRACE_SECONDS = 0.25

BuildScaler = Callable[[Trigger, ScalerContext], AnyScaler]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerSource:
    """Factory of scalers; `keda_py.sdk.registry.build` is the usual `build`."""

    shared_context: SharedContext
    build: BuildScaler
    resolver: Resolver
    journal: Journal = field(default_factory=Journal.in_memory)
    zero_polling_interval: float = 0.0
    """Seconds between two requests for idle objects, 0: none; see `zero_polls.py`."""

    @property
    def timeout(self) -> float:
        """Return the seconds for each step of building."""
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
        with working(spec.namespace):
            scaler, seconds = await guard(self._build(given, context), self.timeout, what=what)
            return await guard(self._open(scaler, context, resolved), seconds, what=what)

    async def _build(self, trigger: Trigger, context: EngineContext) -> tuple[AnyScaler, float]:
        """Build the scaler; return it and the seconds for opening it: a slow server is also slow to log in to."""
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
        # A cancellation, too: a half-open scaler may hold a connection that nothing else would close.
        except BaseException:
            await _close(scaler, context)
            raise

    async def resolve(self, spec: TriggersSpec, index: int) -> Resolved:
        """Resolve environment and authentication of a trigger. Raises ConfigError or ScalerError."""
        with working(spec.namespace):
            return await guard(self.resolver.resolve(spec, index), self.timeout, what="resolving authentication")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenScaler:
    """Open scaler, with what it was built from and its properties."""

    scaler: AnyScaler
    context: EngineContext
    resolved: Resolved
    batch_key: SharingKey | None
    activation: float
    timeout: float

    async def aclose(self) -> None:
        """Close the scaler, then release what it shared."""
        await _close(self.scaler, self.context)


async def _close(scaler: AnyScaler, context: EngineContext) -> None:
    """Close scaler and context; a failure is only logged."""
    for part in (scaler.aclose(), context.aclose()):
        try:
            await guard(part, context.http_timeout, what="closing a scaler")
        except (ConfigError, ScalerError) as error:
            log.warning("scaler did not close cleanly", extra={"error": str(error)})


class ScalerSet:
    """Scalers by trigger index, with their metrics. Made by `build_set`."""

    def __init__(
        self, spec: TriggersSpec, metrics: MetricSet, opened: Iterable[OpenScaler], source: ScalerSource
    ) -> None:
        self.spec, self.metrics, self._several = spec, metrics, _several_of(metrics)
        self.work = _work_on(spec)
        """Name of its reads in the journal."""
        self._opened, self._source = list(opened), source
        self._renewing = asyncio.Lock()
        self.on_renewed: Callable[[ScalerSet, int], None] | None = None
        """Called with the set and the index of a trigger whose scaler was replaced."""

    @property
    def scalers(self) -> tuple[AnyScaler, ...]:
        """Return the scalers in trigger order."""
        return tuple(opened.scaler for opened in self._opened)

    @property
    def batch_keys(self) -> tuple[SharingKey | None, ...]:
        """Return the batch keys in trigger order."""
        return tuple(opened.batch_key for opened in self._opened)

    def batch_key(self, index: int) -> SharingKey | None:
        """Return the batch key of a trigger; None for one with several metrics."""
        return None if index in self._several else self._opened[index].batch_key

    def restate(self, index: int, specs: Sequence[MetricSpec]) -> bool:
        """Take other metrics of a trigger; return whether they differ. Raises ConfigError, and keeps the old ones."""
        metrics = restate_metrics(self.spec, self.metrics, index, specs)
        if metrics == self.metrics:
            return False
        self.metrics, self._several = metrics, _several_of(metrics)
        return True

    @property
    def is_read_alone(self) -> bool:
        """Return whether the object is kept out of batches, because it was under way when a process died."""
        return self.work.key in self._source.journal.apart

    def joined_key(self, index: int) -> SharingKey | None:
        """Return the key of the batch that a trigger is read in now; None if it is read alone.

        A trigger with several metrics is, because `read_batch` cannot tell them apart, and so is each of an object that
        is read alone.
        """
        return None if self.is_read_alone else self.batch_key(index)

    def activation(self, index: int) -> float:
        """Return the value above which a trigger is active."""
        return self._opened[index].activation

    def timeout(self, index: int) -> float:
        """Return the seconds after which the engine ends a trigger's reading."""
        return self._opened[index].timeout

    def scaler(self, index: int) -> AnyScaler:
        """Return the current scaler of a trigger; a renewal replaces it."""
        return self._opened[index].scaler

    async def renew(self, index: int, failed: AnyScaler | None = None) -> bool:
        """Replace a scaler if its parameters resolve to other values now; return whether it was replaced.

        `failed` is the scaler that could not read; a second caller finds it replaced already.
        """
        async with self._renewing:
            old = self._opened[index]
            # Several meters of one scaler fail together; the first one has renewed it already.
            if failed not in (None, old.scaler):
                return True
            try:
                # With equal parameters a new scaler would fail just as this one did, and cost a second request to a
                # dead source.
                if await self._source.resolve(self.spec, index) == old.resolved:
                    return False
                self._opened[index] = await self._source.open(self.spec, index)
            except (ConfigError, ScalerError) as error:
                level = logging.WARNING if failed is None else logging.DEBUG
                log.log(level, "scaler cannot be renewed", extra={**self._names(index), "error": str(error)})
                return False
        log.info("scaler renewed with changed parameters", extra=self._names(index))
        if self.on_renewed is not None:
            self.on_renewed(self, index)
        # After the switch, so that no read ever finds a closed scaler.
        await old.aclose()
        return True

    async def names_same_metrics(self) -> bool:
        """Return whether the current scalers have the metrics that the set was built with."""
        try:
            return name_metrics(self.spec, await _specs(self.spec, self._opened, self._source.timeout)) == self.metrics
        except (ConfigError, ScalerError):
            return False

    def _names(self, index: int) -> dict[str, object]:
        return self.spec.key.log_fields | {"trigger": index}

    async def aclose(self) -> None:
        opened, self._opened = self._opened, []
        for scaler in opened:
            await scaler.aclose()


def _several_of(metrics: MetricSet) -> tuple[int, ...]:
    """Return the triggers with several metrics."""
    counted = Counter(metric.trigger_index for metric in metrics.external)
    return tuple(index for index, count in counted.items() if count > 1)


async def build_set(spec: TriggersSpec, source: ScalerSource) -> ScalerSet:
    """Open every trigger's scaler and name their metrics. Raises the first trigger's ConfigError or ScalerError.

    If one trigger fails, the scalers that were opened are closed again.
    """
    outcomes: dict[int, OpenScaler | ConfigError | ScalerError] = {}
    try:
        async with asyncio.TaskGroup() as group:
            for index in range(len(spec.triggers)):
                group.create_task(_attempt(spec, index, source, outcomes))
        opened = _all_open([outcomes[index] for index in range(len(spec.triggers))])
        metrics = name_metrics(spec, await _specs(spec, opened, source.timeout))
    # Those that did open have connections, and without a set no caller could close them.
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
        await guard(scaler.scaler.specs(), max(timeout, scaler.timeout), what=f"metrics of scaler {trigger.type}")
        for scaler, trigger in zip(opened, spec.triggers, strict=True)
    ]


def _work_on(spec: TriggersSpec) -> Work:
    return Work(spec.key, edition_of(spec.uid, spec.generation))
