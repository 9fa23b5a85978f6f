"""Plans of simulations: versions of an object over time, in a setting, until an end."""

from collections.abc import Sequence
from dataclasses import dataclass

from keda_py.replay.engine.engine import ObjectEngine, Recorder
from keda_py.replay.engine.setting import Setting
from keda_py.replay.engine.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`versions` are (second, version), the first when the object is created.

    That second may be negative: what comes before second 0 happens, and is not recorded.
    """

    versions: Sequence[tuple[float, Subject]]
    setting: Setting
    end: float


def simulate(plan: Plan, recorder: Recorder) -> None:
    """Run the engine from the object's creation to the plan's end, which is not reached itself."""
    engine = ObjectEngine(plan.versions[0][1], plan.setting, recorder)
    for at, version in plan.versions:
        engine.run_until(min(at, plan.end))
        if at >= plan.end:
            return
        engine.adopt(version, at)
    engine.run_until(plan.end)
