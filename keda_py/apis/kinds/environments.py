"""Rows of the kinds of `keda-py.dev`; `table.py` appends them to KEDA's.

The time to the next change has no column: kubectl shows a future date as <invalid>, and a text would have to be written
each minute. The CLI shows it.
"""

from keda_py.apis.environments.calendar import Calendar, ClusterCalendar
from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.keda_defaults import ClusterKedaDefaults, KedaDefaults
from keda_py.apis.environments.override import Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.kinds.kind import KindRow, PrinterColumn

GROUP = "keda-py.dev"


def _condition(kind: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].status'


_VALID = PrinterColumn(name="Valid", path=_condition("Valid"))
_NEXT = (
    PrinterColumn(name="Next", path=".status.nextChange.to"),
    PrinterColumn(name="At", path=".status.nextChange.at"),
)
_AGE = PrinterColumn(name="Age", path=".metadata.creationTimestamp", type="date")
_CALENDAR = (
    PrinterColumn(name="Open", path=".status.open", type="boolean"),
    *_NEXT,
    PrinterColumn(name="Zone", path=".spec.timeZone"),
    _VALID,
    _AGE,
)

_DEFAULTS = (
    PrinterColumn(name="Interval", path=".spec.pollingInterval", type="integer"),
    PrinterColumn(name="Cooldown", path=".spec.cooldownPeriod", type="integer"),
    PrinterColumn(name="Min", path=".spec.minReplicaCount", type="integer"),
    PrinterColumn(name="Max", path=".spec.maxReplicaCount", type="integer"),
    PrinterColumn(name="MaxAtMost", path=".spec.bounds.maxReplicaCount.atMost", type="integer"),
    _VALID,
    _AGE,
)

ENVIRONMENT_KINDS = (
    KindRow(model=Calendar, group=GROUP, webhook="vcalendar", short_names=("cal",), columns=_CALENDAR),
    KindRow(
        model=ClusterCalendar,
        group=GROUP,
        webhook="vclustercalendar",
        scope="Cluster",
        short_names=("ccal",),
        columns=_CALENDAR,
    ),
    KindRow(
        model=Environment,
        group=GROUP,
        webhook="venvironment",
        short_names=("env",),
        columns=(
            PrinterColumn(name="Phase", path=".status.phase"),
            PrinterColumn(name="Ready", path=".status.ready"),
            PrinterColumn(name="Up", path=".status.up"),
            *_NEXT,
            PrinterColumn(name="Override", path=".status.override.summary"),
            PrinterColumn(name="Valid", path=_condition("Valid"), priority=1),
            PrinterColumn(name="Contested", path=_condition("Contested"), priority=1),
            PrinterColumn(name="Because", path=".status.because", priority=1),
            _AGE,
        ),
    ),
    KindRow(
        model=ClusterEnvironment,
        group=GROUP,
        webhook="vclusterenvironment",
        scope="Cluster",
        short_names=("cenv",),
        columns=(
            *(
                PrinterColumn(name=name, path=f".status.namespaces.{name[0].lower()}{name[1:]}", type="integer")
                for name in ("Covered", "Awake", "Asleep", "Waking", "Contested", "Failed")
            ),
            PrinterColumn(name="FallingAsleep", path=".status.namespaces.fallingAsleep", type="integer", priority=1),
            PrinterColumn(name="Own", path=".status.namespaces.own", type="integer", priority=1),
            _VALID,
            _AGE,
        ),
    ),
    KindRow(
        model=Override,
        group=GROUP,
        webhook="voverride",
        short_names=("ovr",),
        columns=(
            PrinterColumn(name="Target", path=".spec.target.name"),
            PrinterColumn(name="State", path=".spec.state"),
            PrinterColumn(name="Replicas", path=".spec.replicas", type="integer"),
            PrinterColumn(name="Phase", path=".status.phase"),
            PrinterColumn(name="Until", path=".status.ends"),
            PrinterColumn(name="By", path=".status.requestedBy"),
            PrinterColumn(name="Reason", path=".spec.reason", priority=1),
            _AGE,
        ),
    ),
    KindRow(
        model=ScalingSchedule,
        group=GROUP,
        webhook="vscalingschedule",
        short_names=("sched",),
        columns=(PrinterColumn(name="Period", path=".status.period"), *_NEXT, _VALID, _AGE),
    ),
    KindRow(model=KedaDefaults, group=GROUP, webhook="vkedadefaults", short_names=("kdef",), columns=_DEFAULTS),
    KindRow(
        model=ClusterKedaDefaults,
        group=GROUP,
        webhook="vclusterkedadefaults",
        scope="Cluster",
        short_names=("ckdef",),
        columns=_DEFAULTS,
    ),
)
