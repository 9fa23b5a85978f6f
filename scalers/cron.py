"""Scale to a fixed count between two moments of a schedule."""

from functools import cached_property

from keda_py.core.cron.windows import CronWindow, check_expression, is_open, next_change
from keda_py.core.cron.zones import load_zone, zone_remedy
from keda_py.core.values.mistakes import Mistakes
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ConfigError, Reading, Scaler, ScalerError, TriggerMetadata

# `*/5 0 ? * 1,3` becomes `xSl50Qmx1Cm3`; the engine's own normalisation comes after.
_IN_NAMES = str.maketrans({" ": "", "*": "x", "/": "Sl", "?": "Qm", ",": "Cm"})


class CronMetadata(TriggerMetadata):
    """Keys of `cron`; start and end have five fields."""

    start: str
    end: str
    timezone: str
    desired_replicas: int


class CronScaler(Scaler[CronMetadata]):
    """Reads nothing but the clock; says when the window changes next, so that no poll is needed for it."""

    target = 1

    def __init__(self, metadata: CronMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        mistakes = Mistakes()
        for field, expression in (("start", metadata.start), ("end", metadata.end)):
            with mistakes.noted():
                _check(field, expression)
        with mistakes.noted():
            if metadata.start == metadata.end:
                message = f'start and end can not have exactly same time input: both are "{metadata.end}"'
                raise ConfigError(message, field="end")
        with mistakes.noted():
            if metadata.desired_replicas == 0:
                text = 'desiredReplicas: "0" is no count to scale to: write 1 or more'
                raise ConfigError(text, field="desiredReplicas")
        mistakes.refuse()

    @property
    def metric_name(self) -> str:
        """`cron-<timezone>-<start>-<end>`."""
        start, end = self.metadata.start.translate(_IN_NAMES), self.metadata.end.translate(_IN_NAMES)
        return f"cron-{self.metadata.timezone}-{start}-{end}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """A time zone that does not exist fails each poll, not the ScaledObject."""
        try:
            load_zone(self.metadata.timezone)
        except ConfigError as error:
            return (str(error),)
        return ()

    @cached_property
    def _window(self) -> CronWindow:
        return CronWindow(start=self.metadata.start, end=self.metadata.end, timezone=self.metadata.timezone)

    async def read(self) -> Reading:
        """`desiredReplicas` inside the window, 0 outside; an unknown time zone is an error of the poll, as in KEDA."""
        try:
            load_zone(self.metadata.timezone)
        except ConfigError as error:
            zone = self.metadata.timezone
            text = f"unable to load timezone: unknown time zone {zone}; {zone_remedy(zone)}"
            raise ScalerError(text) from error
        now = self.context.clock.now()
        inside = is_open(self._window, now)
        return Reading(
            value=float(self.metadata.desired_replicas) if inside else 0.0,
            active=inside,
            changes_at=next_change(self._window, now),
        )


def _check(field: str, expression: str) -> None:
    try:
        check_expression(expression, field=field)
    except ConfigError as error:
        raise ConfigError(f"error parsing {field} schedule: {error}", field=field) from None
