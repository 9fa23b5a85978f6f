"""Plans with the counts of now, of a whole namespace, or of one object and what matters to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from keda_py.apis.foreign import Obj, map_at, maps_at, name_of, namespace_of, text_at, value_at
from keda_py.core.environment.decision.state import MemberState, Stage
from keda_py.core.environment.spec import EnvironmentSpec, owner_of
from keda_py.core.values.times import parse_optional_time
from keda_py.errors import ConfigError
from keda_py.replay.namespaces import NamespaceReplay
from keda_py.replay.next_change import AHEAD
from keda_py.replay.plan import CurrentState, EnvironmentPlan, NamespacePlan
from keda_py.replay.reading.manifests import ROLES, ManifestSource, read_plans

Marks = tuple[Mapping[str, str], Mapping[str, str]]
"""Labels and annotations."""
_ASLEEP = (Stage.FALLING, Stage.DOWN)


def plan_of(
    sources: Sequence[ManifestSource], key: str, now: datetime, seen: CurrentState | None = None
) -> NamespacePlan | None:
    """Read the plan for KIND/NAME; None if it cannot be read, or is not among `sources`, which are of one namespace.

    `seen` is what is known of the object better than the sources say it. Only with waves do other members matter.
    """
    plans = [plan for plan in read_plans(_that_matter(sources, key), now, now + AHEAD) if plan.name]
    plan = next((plan for plan in plans if key in _marks(plan)), None)
    if plan is None:
        return None
    owner = _owner(plan, _marks(plan)[key])
    keeps = _kept_with(plan, owner, key)
    counts = dict(_counts(sources, plan, {} if owner is None else owner.state.members))
    return replace(
        plan,
        objects=tuple(one for one in plan.objects if f"ScaledObject/{one.spec.name}" in keeps),
        members=tuple(one for one in plan.members if f"{one.kind}/{one.name}" in keeps),
        environments=() if owner is None else (owner,),
        now=counts if seen is None else {**counts, key: seen},
    )


def with_current_counts(plan: NamespacePlan, sources: Iterable[ManifestSource], now: datetime) -> NamespacePlan:
    """The whole namespace; as it is without Environments, as its workloads are not read then.

    What a ScaledObject scales may not be among the sources: then its count is what its schedules make of it.
    """
    if not plan.environments:
        return plan
    own = [source for source in sources if namespace_of(source.body) == plan.name]
    remembered = {key: one for each in plan.environments for key, one in each.state.members.items()}
    counts = dict(_counts(own, plan, remembered))
    reckoned = NamespaceReplay(plan, now, now + timedelta.resolution)
    reckoned.run()
    for governed in reckoned.objects:
        counts.setdefault(governed.key, CurrentState(replicas=governed.replay.replicas))
    bodies = {_key(source.body): source.body for source in own}
    return replace(plan, now={key: _with_activity(one, bodies.get(key), now) for key, one in counts.items()})


def _with_activity(seen: CurrentState, body: Obj | None, now: datetime) -> CurrentState:
    """Return the state of a ScaledObject as its status has it: triggers that are active now, or were so at a time."""
    status = map_at(body, "status")
    active = any(one.get("type") == "Active" and one.get("status") == "True" for one in maps_at(status, "conditions"))
    try:
        last = now if active else parse_optional_time(text_at(status, "lastActiveTime"), field="status.lastActiveTime")
    except ConfigError:
        last = None
    return replace(seen, last_active=last)


def _that_matter(sources: Sequence[ManifestSource], key: str) -> Sequence[ManifestSource]:
    """Leave out other ScaledObjects and members, which matter with waves alone: a namespace may have thousands."""
    if any(source.body["kind"] == "Environment" and maps_at(source.body, "spec", "waves") for source in sources):
        return sources
    members = ("ScaledObject", *ROLES)
    return [one for one in sources if one.body["kind"] not in members or key == _key(one.body)]


def _key(body: Obj) -> str:
    return f"{body['kind']}/{name_of(body)}"


def _marks(plan: NamespacePlan) -> dict[str, Marks]:
    objects = {f"ScaledObject/{one.spec.name}": (one.spec.labels, one.spec.annotations) for one in plan.objects}
    return objects | {f"{one.kind}/{one.name}": (one.labels, one.annotations) for one in plan.members}


def _owner(plan: NamespacePlan, marks: Marks) -> EnvironmentPlan | None:
    specs: list[EnvironmentSpec] = [each.spec for each in plan.environments]
    owner = owner_of(specs, *marks)
    return None if owner is None else next(each for each in plan.environments if each.spec is owner)


def _kept_with(plan: NamespacePlan, owner: EnvironmentPlan | None, key: str) -> set[str]:
    if owner is None or not owner.spec.waves:
        return {key}
    return {one for one, marks in _marks(plan).items() if _owner(plan, marks) is owner}


def _counts(
    sources: Iterable[ManifestSource], plan: NamespacePlan, remembered: Mapping[str, MemberState]
) -> Iterable[tuple[str, CurrentState]]:
    """Count members and scale targets; a target that is not seen is asleep if its Environment remembers so."""
    bodies = {_key(source.body): source.body for source in sources}
    for member in plan.members:
        key = f"{member.kind}/{member.name}"
        yield key, CurrentState(replicas=_count(bodies[key]))
    for one in plan.objects:
        key, target = f"ScaledObject/{one.spec.name}", bodies.get(f"{one.spec.target.kind}/{one.spec.target.name}")
        if target is not None:
            yield key, CurrentState(replicas=_count(target))
        elif key in remembered and remembered[key].stage in _ASLEEP:
            yield key, CurrentState(replicas=0)


def _count(body: Obj) -> int:
    if text_at(body, "kind") == "CronJob":
        return int(value_at(body, "spec", "suspend") is not True)
    count = map_at(body, "spec").get("replicas", 1)
    return count if isinstance(count, int) and count >= 0 else 1
