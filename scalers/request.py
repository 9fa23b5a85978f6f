"""Scale from zero when a request arrives at a Service of the workload; wakers hold it meanwhile."""

from datetime import timedelta
from typing import Annotated

from keda_py.core.values.durations import parse_duration
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.waking.rules import Ignored, Page
from keda_py.core.waking.spec import WakeSpec, check_ignored, read_hold
from keda_py.sdk.advanced import ScalerContext, named
from keda_py.sdk.scaler import ConfigError, Reading, Scaler, ScalerError, TriggerMetadata

_USUAL, _SHORTEST = timedelta(minutes=10), timedelta(minutes=1)
"""A shorter activity would end before the pods of a slow application are ready."""


class RequestMetadata(TriggerMetadata):
    """Keys of `request`; those of wakeOnRequest of an Environment mean the same here."""

    services: list[str] = []
    active_for: str = ""
    hold: str = ""
    page: str = ""
    ignore_paths: list[str] = []
    ignore_user_agents: list[str] = []
    ignore_status: Annotated[int, named("ignoreStatus")] = 503


class RequestScaler(Scaler[RequestMetadata]):
    """Active while requests wait, and for activeFor after the last one that a waker held."""

    target = 1

    def __init__(self, metadata: RequestMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._wake = self.wake_spec(metadata)

    @classmethod
    def wake_spec(cls, metadata: RequestMetadata) -> WakeSpec:
        """Read the keys. Raises ConfigError with all mistakes."""
        mistakes, stay, hold, page = Mistakes(), _USUAL, timedelta(0), Page.AUTO
        ignored = Ignored(
            paths=tuple(metadata.ignore_paths),
            user_agents=tuple(metadata.ignore_user_agents),
            status=metadata.ignore_status,
        )
        with mistakes.noted():
            stay = parse_duration(metadata.active_for, _USUAL, field="activeFor")
            if stay < _SHORTEST:
                text = f"activeFor: {metadata.active_for!r} is too short; write 1m or more"
                raise ConfigError(text, field="activeFor")
        with mistakes.noted():
            hold = read_hold(metadata.hold, "hold")
        with mistakes.noted():
            page = _read_page(metadata.page)
        with mistakes.noted():
            check_ignored(ignored, "ignore")
        mistakes.refuse()
        return WakeSpec(names=tuple(metadata.services), stay=stay, hold=hold, page=page, ignored=ignored)

    @property
    def metric_name(self) -> str:
        """`request-<Services>`."""
        return f"request-{'-'.join(self.metadata.services) or 'all'}"

    async def read(self) -> Reading:
        """1 while active, else 0; an error where a request could not wake the workload, so that it stays up."""
        wakes, now, me = self.context.wakes, self.context.clock.now(), self.context
        if wakes is None:
            raise ScalerError("no wakers are installed; set the chart's waker.enabled, which sets --waker-service")
        last = wakes.last_request(me.namespace, me.scaled_object)
        if last is not None and now < (until := min(last, now) + self._wake.stay):
            return Reading(value=1.0, active=True, changes_at=until)
        if obstacle := wakes.obstacle(me.namespace, me.scaled_object, self._wake):
            raise ScalerError(obstacle)
        return Reading(value=0.0, active=False)


def _read_page(text: str) -> Page:
    try:
        return Page(text or Page.AUTO)
    except ValueError:
        known = ", ".join(Page)
        raise ConfigError(f"page: {text[:40]!r} is none of {known}; write one of them", field="page") from None
