"""The members of an Environment, read with the rights of the user: what each does now, and what holds it.

Who is a member is the rule of `core/environment/`; what is remembered of one stands in the Environment's status. What
the user may not list is left out and named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from keda_py.apis.environments.environment import Environment, MemberStatus, MemberUp
from keda_py.apis.foreign import map_at, text_at, texts_at
from keda_py.core.environment.decision.state import Stage
from keda_py.core.environment.spec import EnvironmentSpec, build_environment, owner_of
from keda_py.environments.further_kinds import Key, list_further
from keda_py.environments.requests import list_environments, read_environment
from keda_py.environments.words import up_in_words
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, SCALED_OBJECTS, STATEFUL_SETS, Obj
from keda_py.replay.reading.cluster import warnings_of
from keda_py.terminal.times import Times

KINDS = (SCALED_OBJECTS, DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """Member on a page: `replicas` is ready/wanted, "" without a count; `why` is what holds it, "" if nothing does."""

    key: str
    wave: str
    state: str
    replicas: str = ""
    why: str = ""
    up: MemberUp | None = None
    """Reason, in the status, why it is up though its Environment should be asleep."""

    def why_in_words(self, times: Times) -> str:
        """Write `why` for a page, with times by the user's clock."""
        return f"up: {up_in_words(self.up, times)}" if self.up is not None else self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Members in the order of waking; `unread` are the kinds that the user may not list.

    `warnings` are what `keda-py validate` says of the Environment with these members.
    """

    found: Sequence[MemberLine]
    unread: Sequence[str] = ()
    warnings: Sequence[str] = ()


async def judged_members(client: KubeClient, environment: Environment) -> Members:
    """The members with what there is to warn of. Raises ConfigError, KubeError."""
    meta = environment.metadata
    found = await members_of(client, environment)
    return replace(found, warnings=await warnings_of(client, meta.namespace, meta.name, client.clock.now()))


async def members_of(client: KubeClient, environment: Environment) -> Members:
    """Read the members of an Environment. Raises ConfigError for a spec that cannot be read, and KubeError."""
    spec = build_environment(environment)
    lives, unread = await list_further(client, spec)
    for kind in KINDS:
        try:
            for live in await client.list(kind, spec.namespace):
                lives[kind.kind, live["metadata"]["name"]] = live
        except Forbidden:
            unread.append(kind.plural)
        except NotFound:
            continue  # the CRD of ScaledObjects is not installed
    neighbours = await _neighbours(client, spec)
    return Members(found=in_order(environment, spec, neighbours, lives), unread=unread)


def in_order(
    environment: Environment, spec: EnvironmentSpec, neighbours: Sequence[EnvironmentSpec], lives: Mapping[Key, Obj]
) -> list[MemberLine]:
    """Return the members among `lives`, the candidates of the namespace, in the order of waking."""
    rows = sorted(_rows(environment, spec, neighbours, lives), key=lambda row: row[:2])
    return [member for _, _, member in rows]


async def _neighbours(client: KubeClient, spec: EnvironmentSpec) -> list[EnvironmentSpec]:
    """List the readable Environments of the namespace; an unreadable one has no members."""
    found = []
    for live in await list_environments(client, spec.namespace):
        try:
            found.append(build_environment(read_environment(live)))
        except ConfigError:
            continue
    return found


def _rows(
    environment: Environment, spec: EnvironmentSpec, neighbours: Sequence[EnvironmentSpec], lives: Mapping[Key, Obj]
) -> Iterator[tuple[int, str, MemberLine]]:
    still_up = {up.member: up for up in environment.status.still_up}
    scaled = {_target_of(live) for (kind, _), live in lives.items() if kind == SCALED_OBJECTS.kind}
    for (kind, name), live in lives.items():
        key, labels = f"{kind}/{name}", texts_at(live, "metadata", "labels")
        annotations = texts_at(live, "metadata", "annotations")
        remembered = environment.status.members.get(key)
        if ((kind, name) in scaled or not spec.takes(labels, annotations)) and remembered is None:
            continue
        wave = spec.wave_of(labels)
        owner = owner_of(neighbours, labels, annotations)
        name_of_wave = spec.wave_name(wave) if spec.waves else ""
        if owner is not None and owner.uid != spec.uid and remembered is None:
            member = MemberLine(
                key=key, wave=name_of_wave, state="another's", why=f"the older Environment {owner.name}"
            )
        else:
            member = _member(key, name_of_wave, live, lives, remembered)
            if remembered is None or remembered.stage == Stage.DOWN.value:
                member = replace(member, up=still_up.get(key))
        yield wave, key, member


def _member(key: str, wave: str, live: Obj, lives: Mapping[Key, Obj], remembered: MemberStatus | None) -> MemberLine:
    is_cron_job = key.startswith(f"{CRON_JOBS.kind}/")
    workload = lives.get(_target_of(live)) if key.startswith(f"{SCALED_OBJECTS.kind}/") else live
    replicas = "" if is_cron_job or workload is None or _is_uncounted(workload) else _replicas(workload)
    if remembered is not None and remembered.stage:
        state, why = _stage(remembered, is_cron_job=is_cron_job)
        if _is_up_again(remembered, live, workload, is_cron_job=is_cron_job):
            state = "up"
    else:
        state, why = _state(live, workload, is_cron_job=is_cron_job), ""
    return MemberLine(key=key, wave=wave, state=state, replicas=replicas, why=why)


def _stage(remembered: MemberStatus, *, is_cron_job: bool) -> tuple[str, str]:
    back = f"{remembered.replicas} to come back" if remembered.replicas else "was at 0 before"
    if is_cron_job:
        back = "" if remembered.replicas else "was suspended before"
    by = remembered.by or "a person"
    match Stage(remembered.stage):
        case Stage.FALLING:
            return "falling asleep", back
        case Stage.DOWN:
            return ("suspended" if is_cron_job else "asleep"), back
        case Stage.RISING:
            return "waking", back
        case Stage.KEPT:
            return "kept up", f"{by} scaled it up; it stays until the next wake"
        case Stage.CONTESTED:
            return "contested", f"{by} put its count back {remembered.put_backs} times; let it ignore the count"
        case Stage.PINNED:
            return "pinned", f"an Override gives it {remembered.to}; {back}"


def _is_up_again(remembered: MemberStatus, live: Obj, workload: Obj | None, *, is_cron_job: bool) -> bool:
    """Whether it is up though the Environment has put it to sleep."""
    if remembered.stage != Stage.DOWN.value or workload is None or _is_uncounted(workload):
        return False
    return not map_at(live, "spec").get("suspend") if is_cron_job else _counts(workload)[1] > 0


def _state(live: Obj, workload: Obj | None, *, is_cron_job: bool) -> str:
    if is_cron_job:
        return "suspended by its owner" if map_at(live, "spec").get("suspend") else "runs"
    if workload is None:
        return "target not seen"
    if _is_uncounted(workload):
        return "count not seen"
    ready, wanted = _counts(workload)
    return "ready" if ready >= wanted else "not ready"


def _is_uncounted(workload: Obj) -> bool:
    """Whether it is of `spec.kinds` and its /scale did not answer."""
    return map_at(workload, "spec").get("replicas", 1) is None


def _replicas(workload: Obj) -> str:
    ready, wanted = _counts(workload)
    return f"{ready}/{wanted}"


def _counts(workload: Obj) -> tuple[int, int]:
    wanted, ready = map_at(workload, "spec").get("replicas", 1), map_at(workload, "status").get("readyReplicas", 0)
    return int(ready), int(wanted)


def _target_of(scaled_object: Obj) -> Key:
    reference = map_at(scaled_object, "spec", "scaleTargetRef")
    return text_at(reference, "kind") or DEPLOYMENTS.kind, text_at(reference, "name")
