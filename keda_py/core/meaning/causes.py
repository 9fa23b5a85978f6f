"""The cause of a changed count, in words that follow "because"; for a changed rule, its name: "with environment dev:
...".

Pure. The decision record keeps these sentences, and previews show them: neither derives its own.
"""

from collections.abc import Iterator, Sequence

from keda_py.core.cron.windows import parse_window
from keda_py.core.cron.words import window_in_words
from keda_py.core.decision import Decision, Reason
from keda_py.core.evaluation import Evaluation
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.metric_specs import CRON
from keda_py.core.spec import FORCE_ACTIVATION, ScalingSpec
from keda_py.core.values.durations import in_words
from keda_py.errors import ConfigError

_MOST_NAMED = 2


def by_environment(name: str, because: str) -> str:
    """Name an Environment as the cause: `with environment dev: hours Mon-Fri 08:30-19:30`."""
    return f"with environment {name}: {because}"


def by_schedule(name: str, period: str) -> str:
    """Name a period of a ScalingSchedule as the cause."""
    return f"with schedule {name}: period {period}"


def cause_of(decision: Decision, evaluation: Evaluation, spec: ScalingSpec) -> str:
    """Describe the cause of a decision that follows from the spec and its triggers."""
    match decision.reason:
        case Reason.ACTIVATED:
            return _activation(evaluation, spec)
        case Reason.DEACTIVATED if spec.cooldown:
            return f"no trigger is active, and the cooldown of {in_words(spec.cooldown)} is over"
        case Reason.DEACTIVATED:
            return "no trigger is active"
        case Reason.RAISED_TO_MIN:
            return f"minReplicaCount is {spec.min_replicas}"
        case _:
            return str(decision.reason)


def _activation(evaluation: Evaluation, spec: ScalingSpec) -> str:
    if spec.force_activation:
        return f"annotation {FORCE_ACTIVATION} is there"
    if spec.resource_only:
        return f"{' and '.join(sorted({trigger.type for trigger in spec.triggers}))} cannot wake it, so it stays up"
    if any(value.name == COMPOSITE_METRIC for value in evaluation.values) and not evaluation.in_fallback:
        return "the formula is above its activation target"
    windows = list(_open_windows(evaluation, spec))
    open_windows = [f"its window is open: {', '.join(windows[:_MOST_NAMED])}"] if windows else []
    return " and ".join([*_polled(evaluation, spec), *open_windows]) or "a trigger is active"


def _polled(evaluation: Evaluation, spec: ScalingSpec) -> Iterator[str]:
    """Describe the active triggers and the fallbacks, without schedules."""
    names = [name for name in evaluation.active_metrics if type_of(name, spec) != CRON]
    stand_ins = [name for name in names if name in evaluation.in_fallback]
    active = [name for name in names if name not in stand_ins]
    if active:
        yield active_in_words(active)
    if stand_ins:
        yield f"{' and '.join(stand_ins)} {'is' if len(stand_ins) == 1 else 'are'} in fallback"


def active_in_words(metrics: Sequence[str]) -> str:
    """Name the active metrics: `s0-jobs and s1-queue are active`."""
    return f"{' and '.join(metrics)} {'is' if len(metrics) == 1 else 'are'} active"


def _open_windows(evaluation: Evaluation, spec: ScalingSpec) -> Iterator[str]:
    for name in evaluation.active_metrics:
        index = index_of(name)
        if index is None or type_of(name, spec) != CRON:
            continue
        data = spec.triggers[index].metadata
        try:
            window = parse_window(data.get("start", ""), data.get("end", ""), data.get("timezone", ""))
        except ConfigError:
            continue
        yield window_in_words(window) or f"{window.start} to {window.end} {window.timezone}"


def index_of(metric: str) -> int | None:
    """Return the index of the trigger in a metric's name, as in `s0-cron-...`; None for a name of another form."""
    digits = metric.partition("-")[0].removeprefix("s")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else None


def type_of(metric: str, spec: ScalingSpec) -> str:
    """Return the type of a metric's trigger; "" if its name has no index."""
    index = index_of(metric)
    return spec.triggers[index].type if index is not None and index < len(spec.triggers) else ""
