"""Why a count changes in a replay, where no decision of the operator's says so: the HPA's syncs, and pauses. Pure."""

from keda_py.core.hpa.walk import Rescaled
from keda_py.core.spec import PAUSED_REPLICAS, ScalingSpec


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
