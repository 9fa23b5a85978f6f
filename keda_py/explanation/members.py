"""Explanation of a workload or CronJob: its Environment, what that decides for it, and what comes next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import map_at, name_of, text_at
from keda_py.core.values.times import write_time
from keda_py.environments.members import MemberLine, members_of
from keda_py.environments.requests import find_environment
from keda_py.environments.words import phase_of, reasons_of, time_of
from keda_py.explanation.policies import why_of_environment
from keda_py.explanation.requests import NamedObject
from keda_py.explanation.zones import zone_of_plan
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CRON_JOBS, SCALED_OBJECTS
from keda_py.replay.next_change import next_step
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.reading.current_state import plan_of
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.replay.timeline import Step
from keda_py.terminal.times import Times


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberExplanation:
    """Explanation in sentences, and as a document for programs."""

    sentences: Sequence[str]
    body: Any


def scaling_object(wanted: NamedObject, sources: Sequence[ManifestSource]) -> str:
    """Return the ScaledObject that scales a workload; "" for none."""
    for source in sources:
        reference = map_at(source.body, "spec", "scaleTargetRef")
        target = text_at(reference, "kind") or "Deployment", text_at(reference, "name")
        if source.body["kind"] == SCALED_OBJECTS.kind and target == (wanted.resource.kind, wanted.name):
            return name_of(source.body)
    return ""


async def tell_member(
    client: KubeClient, wanted: NamedObject, sources: Sequence[ManifestSource], times: Times
) -> MemberExplanation:
    """Explain a workload that no ScaledObject scales. Raises KubeError."""
    plan = plan_of(sources, wanted.key, times.now)
    if plan is None or not plan.environments:
        where = f"{wanted.namespace}/{wanted.name}"
        text = f"{where}: no Environment has this {wanted.resource.kind}, and no ScaledObject scales it"
        return MemberExplanation(sentences=[text, *_problems(plan)], body=_body(wanted))
    times = times.of(zone_of_plan(plan))
    environment = await find_environment(client, wanted.namespace, plan.environments[0].spec.name)
    found = (await members_of(client, environment)).found
    member = next((one for one in found if one.key == wanted.key), None)
    step = next_step(plan, wanted.key, times.now, lambda _: True).step
    why = await why_of_environment(client, environment)
    lines = [
        *_now(wanted, member, environment, times),
        *(f"  {one}" for one in why),
        f"next: {_next(wanted, step, times)}",
    ]
    return MemberExplanation(sentences=lines, body=_body(wanted, environment, member, step, times.now))


def _problems(plan: NamespacePlan | None) -> Sequence[str]:
    return plan.problems if plan is not None else ()


def _now(wanted: NamedObject, member: MemberLine | None, environment: Environment, times: Times) -> Iterator[str]:
    state = "not seen" if member is None else member.state
    ready = f", {member.replicas} ready" if member is not None and member.replicas else ""
    what = f"{wanted.resource.kind} of environment {environment.metadata.name}"
    yield f"{wanted.namespace}/{wanted.name}: {state}{ready}, {what}"
    if member is not None and (why := member.why_in_words(times)):
        yield f"  {why}"
    status = environment.status
    since = time_of(status.phase_since)
    began = f" since {times.spoken(since)}" if since is not None else ""
    because = "; ".join(reasons_of(environment, times))
    yield f"  its environment is {phase_of(status)}{began}{f': {because}' if because else ''}"


def _next(wanted: NamedObject, step: Step | None, times: Times) -> str:
    if step is None:
        return "nothing is known to come"
    if wanted.resource is CRON_JOBS:
        goes = "runs again" if step.replicas else "is suspended"
    else:
        goes = "sleeps" if not step.replicas else "wakes" if not step.before else f"goes to {step.replicas}"
    return f"{goes} {times.moment(step.at)}, in {times.until(step.at)}, {times.localised(step.because)}"


def _body(
    wanted: NamedObject,
    environment: Environment | None = None,
    member: MemberLine | None = None,
    step: Step | None = None,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Build the document for programs; times are UTC."""
    body: dict[str, Any] = {"kind": wanted.resource.kind, "namespace": wanted.namespace, "name": wanted.name}
    if environment is not None:
        body |= {"environment": environment.metadata.name, "phase": environment.status.phase}
    if member is not None:
        why = member.why_in_words(Times(now=now)) if now is not None else member.why
        body |= {"state": member.state, "replicas": member.replicas, "why": why}
    if step is not None:
        body["nextChange"] = {"at": write_time(step.at), "replicas": step.replicas, "because": step.because}
    return body
