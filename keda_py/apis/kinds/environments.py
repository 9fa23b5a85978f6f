"""The rows of the kinds of `keda-py.dev`, which stand in the table (`table.py`) behind KEDA's.

`IN`, the time to the next change, has no column: a date of the future is shown as <invalid> by kubectl, and a text of
it would be written each minute. The CLI shows it.
"""

from keda_py.apis.environments.calendar import Calendar, ClusterCalendar
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.kinds.kind import Column, Kind

GROUP = "keda-py.dev"


def _condition(kind: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].status'


_VALID = Column(name="Valid", path=_condition("Valid"))
_NEXT = (Column(name="Next", path=".status.nextChange.to"), Column(name="At", path=".status.nextChange.at"))
_AGE = Column(name="Age", path=".metadata.creationTimestamp", type="date")
_CALENDAR = (
    Column(name="Open", path=".status.open", type="boolean"),
    *_NEXT,
    Column(name="Zone", path=".spec.timeZone"),
    _VALID,
    _AGE,
)

ENVIRONMENT_KINDS = (
    Kind(model=Calendar, group=GROUP, webhook="vcalendar", short_names=("cal",), columns=_CALENDAR),
    Kind(
        model=ClusterCalendar,
        group=GROUP,
        webhook="vclustercalendar",
        scope="Cluster",
        short_names=("ccal",),
        columns=_CALENDAR,
    ),
    Kind(
        model=Environment,
        group=GROUP,
        webhook="venvironment",
        short_names=("env",),
        columns=(
            Column(name="Phase", path=".status.phase"),
            Column(name="Ready", path=".status.ready"),
            Column(name="Up", path=".status.up"),
            *_NEXT,
            Column(name="Override", path=".status.override.summary"),
            Column(name="Valid", path=_condition("Valid"), priority=1),
            Column(name="Contested", path=_condition("Contested"), priority=1),
            Column(name="Because", path=".status.because", priority=1),
            _AGE,
        ),
    ),
    Kind(
        model=Override,
        group=GROUP,
        webhook="voverride",
        short_names=("ovr",),
        columns=(
            Column(name="Target", path=".spec.target.name"),
            Column(name="State", path=".spec.state"),
            Column(name="Replicas", path=".spec.replicas", type="integer"),
            Column(name="Phase", path=".status.phase"),
            Column(name="Until", path=".status.ends"),
            Column(name="By", path=".status.requestedBy"),
            Column(name="Reason", path=".spec.reason", priority=1),
            _AGE,
        ),
    ),
    Kind(
        model=ScalingSchedule,
        group=GROUP,
        webhook="vscalingschedule",
        short_names=("sched",),
        columns=(Column(name="Period", path=".status.period"), *_NEXT, _VALID, _AGE),
    ),
)
