"""Why a count changes, in words. Pure."""

from keda_py.core.cron.words import window_in_words
from keda_py.core.decision import Decision, Reason
from keda_py.core.environment.times import in_words
from keda_py.core.evaluation import Evaluation
from keda_py.core.hpa.walk import Rescaled
from keda_py.core.spec import PAUSED_REPLICAS, ScalingSpec
from keda_py.replay.triggers import Triggers


def by_look(decision: Decision, evaluation: Evaluation, spec: ScalingSpec, triggers: Triggers) -> str:
    """Of a decision that sets the count."""
    match decision.reason:
        case Reason.ACTIVATED:
            return _opens(evaluation, spec, triggers)
        case Reason.DEACTIVATED if spec.cooldown:
            return f"no trigger is active, and the cooldown of {in_words(spec.cooldown)} is over"
        case Reason.DEACTIVATED:
            return "no trigger is active"
        case Reason.RAISED_TO_MIN:
            return f"minReplicaCount is {spec.min_replicas}"
        case _:
            return str(decision.reason)


def _opens(evaluation: Evaluation, spec: ScalingSpec, triggers: Triggers) -> str:
    """The windows that are open, in words where they have any."""
    if spec.force_activation:
        return "forced by annotation"
    active = set(evaluation.active_metrics)
    windows = [
        triggers.windows[metric.trigger_index]
        for metric in triggers.metrics.external
        if metric.name in active and metric.trigger_index in triggers.windows
    ]
    told = [
        window_in_words(window.times) or f"the window {window.times.start} to {window.times.end}" for window in windows
    ]
    if told:
        return f"open: {', '.join(told[:2])}"
    return "the formula is above its activation target" if triggers.metrics.composite else "a trigger is active"


def by_hpa(rescaled: Rescaled, before: int, laid: str) -> str:
    """Of a sync that sets the count."""
    if rescaled.why.startswith("Current number of replicas"):
        what = "below minReplicas" if "below" in rescaled.why else "above maxReplicas"
        return laid or f"HPA: {what}"
    up = rescaled.replicas > before
    return "HPA: the triggers ask for more" if up else "HPA: the triggers ask for less, and did for its whole window"


def by_pause(spec: ScalingSpec) -> str:
    """Of a ScaledObject that its owner has paused."""
    return f"annotation {PAUSED_REPLICAS} is {spec.pause.replicas}"
