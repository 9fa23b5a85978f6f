"""The contract of a scaler: one trigger of a ScaledObject, made into readings.

The engine adds what all share: the `sN-` prefix and normalisation of metric names, metricType, time-outs, fallback
counting, caching, single-flight and batching. Next in the flow: `keda_py/readings/readings.py`, which asks scalers.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from keda_py.core.metric_specs import ExternalMetric, MetricSpec
from keda_py.core.reading import Reading
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.net.secret_texts import Secrets
from keda_py.sdk.metadata.model import TriggerMetadata
from keda_py.sdk.metadata.template import MetricTemplate
from keda_py.sdk.scaler_context import ScalerContext

if TYPE_CHECKING:
    from keda_py.core.waking.spec import WakeSpec

M = TypeVar("M", bound=TriggerMetadata)

LONGEST_TIMEOUT = 300.0
"""Seconds that one reading may take, whatever the metadata's `timeout` says."""


class Scaler(Generic[M]):
    """One trigger. `__init__` does no I/O; `open` may connect; `read` answers or raises ScalerError."""

    metadata_model: ClassVar[type[TriggerMetadata]]
    """Set by the type argument: `class AcmeScaler(Scaler[AcmeMetadata])`."""

    _read_takes_spec: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take the metadata model from the type argument. Raises TypeError for a template that names no key."""
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in getattr(base, "__args__", ()):
                if isinstance(argument, type) and issubclass(argument, TriggerMetadata):
                    cls.metadata_model = argument
        # Here and not at the first reading: the author sees a typing error in a template when the class is imported.
        MetricTemplate.settle(cls, getattr(cls, "metadata_model", None))
        if "read" in vars(cls):
            cls._read_takes_spec = len(signature(cls.read).parameters) > 1

    def __init__(self, metadata: M, context: ScalerContext) -> None:
        """Raises ConfigError for a marked target that is missing, 0 or less, unless a formula has its own target."""
        self.metadata = metadata
        self.context = context
        if key := metadata.key_of("target"):
            # A missing key gets words of its own: its default, 0, would be shown as if the user had written it.
            value = getattr(metadata, key.field) or 0
            if not (value or context.as_metric_source or key.field in metadata.model_fields_set):
                raise ConfigError(f"no {key.name} given: write a number above 0", field=key.name)
            check_target(value, key.name, context)

    @property
    def metric_name(self) -> str:
        """The metric's name before prefix and normalisation: a property, or a template such as `acme-{queue}`."""
        raise NotImplementedError

    @property
    def target(self) -> int | float:
        """The value a replica (AverageValue) or the whole target (Value) should have: of the field marked `Target`."""
        if key := self.metadata.key_of("target"):
            value: int | float = getattr(self.metadata, key.field) or 0
            return value
        raise NotImplementedError("mark a field of the metadata with Target()")

    @property
    def activation(self) -> float:
        """The value above which, strictly, the trigger is active: of the field marked `Activation`, or 0."""
        key = self.metadata.key_of("activation")
        return float(getattr(self.metadata, key.field) or 0) if key else 0.0

    @property
    def cautions(self) -> Sequence[str]:
        """Mistakes that KEDA accepts and that will not work, a sentence each, for `keda-py validate`. Without I/O."""
        return ()

    @classmethod
    def wake_spec(cls, metadata: M) -> "WakeSpec | None":
        """Return which requests wake the workload; None: it does not depend on requests. Raises ConfigError.

        The engine then leads its Services to wakers before the workload goes to 0. `ScalerContext.wakes` has what came.
        """
        return None

    @property
    def timeout(self) -> float:
        """Seconds that one reading may take: the metadata's `timeout` if it is above 0, else the context's.

        Of a longer one than LONGEST_TIMEOUT that much counts.
        """
        own = getattr(self.metadata, "timeout", None)
        return (
            min(own.total_seconds(), LONGEST_TIMEOUT)
            if isinstance(own, timedelta) and own
            else self.context.http_timeout
        )

    @property
    def longest_wait(self) -> float:
        """Seconds that a reading may wait for its turn, as for a connection, before its `timeout` begins.

        A scaler that says more than 0 keeps the time-out of its question itself.
        """
        return 0.0

    async def open(self) -> None:
        """Connect. Raises ConfigError (the user must act) or ScalerError (try again)."""

    async def specs(self) -> tuple[MetricSpec, ...]:
        """The metrics of this trigger; by default one external metric from `metric_name` and `target`."""
        return (ExternalMetric(name=self.metric_name, target=self.target),)

    async def read(self) -> Reading:
        """Measure now; by default a batch of this scaler alone. Raises ScalerError when it cannot know."""
        (reading,) = await self.read_batch([self])
        if isinstance(reading, ScalerError):
            raise reading
        return reading

    async def read_metric(self, spec: ExternalMetric) -> Reading:
        """Measure one of the metrics that `specs` names; a scaler of one metric defines `read` alone."""
        read: Callable[..., Awaitable[Reading]] = self.read
        # A scaler that was written for an earlier release takes the spec in `read`.
        return await (read(spec) if self._read_takes_spec else read())

    @property
    def batch_key(self) -> SharingKey | None:
        """The key of triggers (endpoint, credentials, TLS, time-out) that one `read_batch` may read; None: none.

        Made by `sharing_key`, as for `ScalerContext.shared`.
        """
        return None

    async def read_batch(self, scalers: "Sequence[Scaler[M]]") -> "Sequence[Reading | ScalerError]":
        """One reading for each scaler, in order; asked on the first of them. Raises ScalerError when all fail."""
        raise NotImplementedError

    def watch(self) -> AsyncIterator[bool] | None:
        """Stream activity from a source that can push; None where it cannot.

        The trigger is read at once when it says True; polls go on below it, and find out when work has ended.
        """
        return None

    def watch_specs(self) -> AsyncIterator[Sequence[MetricSpec]] | None:
        """Stream the trigger's metrics when a target changes; None where the source does not tell.

        Each item stands in place of what `specs` said, and the HPA follows. `specs` has to answer the same from then
        on: after a restart, or on another replica, it is asked first.
        """
        return None

    @property
    def listens_at_zero_only(self) -> bool:
        """Say that `watch` is followed only while the object has nothing to do and its workload is at zero.

        For streams that cost something: above zero the HPA asks anyway. Such a stream says first what holds when it
        begins, since what came shortly before is told by no event.
        """
        return False

    @property
    def asked_often_at_zero(self) -> bool:
        """Say that `read_batch` may be asked several times a second while the workload is at zero.

        For a source that cannot push, answers cheaply, and is told nothing by being asked: a reading more or less
        makes no difference to the next one. It needs a `batch_key`.
        """
        return False

    async def aclose(self) -> None:
        """Give everything back. Never raises."""


def check_target(value: float, key: str, context: ScalerContext) -> None:
    """Refuse a target that no HPA takes, unless a formula's own takes its place. Raises ConfigError."""
    if value <= 0 and not context.as_metric_source:
        raise ConfigError(f'{key}: "{value:g}" is no target for an HPA: write a number above 0', field=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A trigger with everything resolved: what `metadata_model.parse` makes typed metadata of.

    `metadata` as it is written; `env`: the variables of the target's container, for keys that end in FromEnv; `auth`:
    the parameters of a TriggerAuthentication. Both are made by `as_secrets`, so that no repr shows one.

    >>> from typing import Annotated
    >>> from keda_py.sdk.advanced import META
    >>> from keda_py.sdk.scaler import ENV, sources
    >>> from keda_py.testing import Trigger, as_secrets
    >>> class TapMetadata(TriggerMetadata):
    ...     url: Annotated[str, sources(META, ENV)]
    >>> trigger = Trigger(type="tap", metadata={"urlFromEnv": "TAP"}, env=as_secrets({"TAP": "http://tap"}))
    >>> TapMetadata.parse(trigger.metadata, trigger.env, trigger.auth).url
    'http://tap'
    """

    type: str
    metadata: Mapping[str, str]
    env: Secrets = field(default_factory=dict)
    auth: Secrets = field(default_factory=dict)
