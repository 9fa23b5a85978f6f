"""The next change of one object: time passes over its namespace until something happens to it. Pure.

A plan that knows `now` begins with what stands; triggers that no schedule rules have no work from then on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from keda_py.replay.namespaces import NamespaceReplay
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.timeline import Step

AHEAD = timedelta(days=400)
"""How far ahead a change is looked for; as far as calendars answer."""
# Instants of a namespace that are gone through: a schedule of every minute is not followed further.
MOST_INSTANTS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """`step` is None if none was found. With `is_known` False the search was given up: too much happened before."""

    step: Step | None
    is_known: bool = True


def next_step(plan: NamespacePlan, key: str, now: datetime, wanted: Callable[[Step], bool]) -> Search:
    """Find the first step of KIND/NAME from `now` on that is wanted."""
    replay, passed = NamespaceReplay(plan, now, now + AHEAD), 0
    for number, _ in enumerate(islice(replay.instants(), MOST_INSTANTS)):
        steps = replay.steps_of(key)
        for step in steps[passed:]:
            if wanted(step):
                return Search(step=step)
        passed = len(steps)
        if number + 1 == MOST_INSTANTS:
            return Search(step=None, is_known=False)
    return Search(step=None, is_known=all(each.replay.settles for each in replay.objects if each.key == key))


def kept_active(plan: NamespacePlan) -> NamespacePlan:
    """Keep all triggers active, so that each step follows from an Environment or a schedule alone."""
    objects = [replace(obj, spec=replace(obj.spec, force_activation=True)) for obj in plan.objects]
    return replace(plan, objects=tuple(objects))
