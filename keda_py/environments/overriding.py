"""`keda-py wake`, `sleep` and `hold`: an Override, made with the user's own rights, and what will come of it."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, REQUESTED_BY
from keda_py.core.environment.overrides import OverrideState, TargetKey
from keda_py.core.values.times import write_time
from keda_py.environments.forecast import Plan, forecast
from keda_py.environments.moments import parse_length, parse_moment
from keda_py.environments.multiple_targets import (
    Choice,
    CommandResult,
    PlannedAction,
    Printing,
    carry_out,
    chosen_environments,
    place_of,
)
from keda_py.environments.requests import (
    NOT_INSTALLED,
    get_environment,
    only_environment,
    read_environment,
    who_am_i,
)
from keda_py.environments.show import times_of
from keda_py.environments.zones import CalendarZones, list_zones
from keda_py.errors import ConfigError, Forbidden, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import OVERRIDES, Obj
from keda_py.terminal.times import Times

ENVIRONMENT = "Environment"
_KINDS = {"scaledobject": "ScaledObject", "deployment": "Deployment", "statefulset": "StatefulSet"}
_KINDS |= {"environment": ENVIRONMENT, "so": "ScaledObject", "deploy": "Deployment", "sts": "StatefulSet"}
_NEXT = ("next", NEXT_CHANGE.lower())
_LONGEST_PREFIX = 50
_VERBS = {OverrideState.AWAKE: "wake", OverrideState.ASLEEP: "sleep", OverrideState.HOLD: "hold"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Wish of the user: `name` "" is the only Environment; without `until` and `length` it ends at the next change."""

    state: OverrideState
    name: str = ""
    until: str = ""
    length: str = ""
    begin: str = ""
    reason: str = ""
    dry_run: bool = False


def override(kubeconfig: str, wish: Wish, choice: Choice, printing: Printing) -> int:
    """Create the Overrides and print what will happen; returns the exit code. Raises ConfigError, KubeError."""
    return carry_out(kubeconfig, partial(propose, wish, choice), choice, printing)


async def propose(wish: Wish, choice: Choice, client: KubeClient, namespace: str) -> PlannedAction:
    """Propose the Overrides, and say what effect they will have. Raises ConfigError, KubeError."""
    times = times_of(client)
    if choice.is_single:
        prepared = [await _prepare(client, namespace, replace(wish, name="".join(choice.names)), times)]
    else:
        prepared = await _prepare_all(client, namespace, wish, choice, times)
    lines = list(prepared[0].sentences) if choice.is_single else [one.line for one in prepared]
    return PlannedAction(
        lines=[*lines, "nothing is created: --dry-run"] if wish.dry_run else lines,
        bodies=[one.body for one in prepared],
        question="" if choice.is_single else f"Create {_counted(len(prepared))}?",
        perform=partial(_store_all, prepared),
    )


def _counted(number: int) -> str:
    return "this Override" if number == 1 else f"these {number} Overrides"


async def request(client: KubeClient, namespace: str, wish: Wish, times: Times) -> tuple[list[str], Obj]:
    """Create one; (sentences, the Override as it is stored or would be). Raises ConfigError, KubeError."""
    prepared = await _prepare(client, namespace, wish, times)
    if wish.dry_run:
        return [*prepared.sentences, "nothing is created: --dry-run"], prepared.body
    outcome = await _store_all([prepared], client)
    return list(outcome.lines), outcome.bodies[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedOverride:
    """Override before it is created, and its forecast; `line` is that in short, with the namespace."""

    namespace: str
    body: Obj
    sentences: Sequence[str]
    line: str


async def _prepare_all(
    client: KubeClient, namespace: str, wish: Wish, choice: Choice, times: Times
) -> list[_PreparedOverride]:
    """Check all of them before any is created. Raises ConfigError that names each one that cannot be."""
    spans, prepared, wrong = _spans(wish, times), [], []
    zones = await list_zones(client, "" if choice.everywhere else namespace)
    if not choice.names:
        for live in await chosen_environments(client, namespace, choice):
            try:
                environment: Environment | None = read_environment(live)
            except ConfigError:
                environment = None  # the operator leaves an unreadable one as it is
            where, name = place_of(live)
            shown = _times_of(environment, zones, times)
            prepared.append(_prepared(where, wish, TargetKey(ENVIRONMENT, name), environment, spans, shown))
        return prepared
    for name in choice.names:
        try:
            target, environment = await _target(client, namespace, name)
        except ConfigError as error:
            wrong.append(str(error))
        else:
            shown = _times_of(environment, zones, times)
            prepared.append(_prepared(namespace, wish, target, environment, spans, shown))
    if wrong:
        raise ConfigError("; ".join(wrong), field="NAME")
    return prepared


async def _prepare(client: KubeClient, namespace: str, wish: Wish, times: Times) -> _PreparedOverride:
    spans = _spans(wish, times)
    target, environment = await _target(client, namespace, wish.name)
    zones = await list_zones(client, namespace)
    return _prepared(namespace, wish, target, environment, spans, _times_of(environment, zones, times))


def _times_of(environment: Environment | None, zones: CalendarZones, times: Times) -> Times:
    """Put the zone of the Environment's Calendar before the reader's; without one the reader's is all there is."""
    return times if environment is None else times.of(zones.of(environment))


def _prepared(
    namespace: str, wish: Wish, target: TargetKey, environment: Environment | None, spans: "_Spans", times: Times
) -> _PreparedOverride:
    shown = target.name if target.kind == ENVIRONMENT else f"{target.kind} {target.name}"
    plan = Plan(state=wish.state, target=shown or "the Environment", starts=spans.starts, ends=spans.ends)
    sentences = list(forecast(plan, environment, times))
    body = _body(namespace, wish, target, spans)
    return _PreparedOverride(namespace=namespace, body=body, sentences=sentences, line=f"{namespace}: {sentences[0]}")


async def _store_all(prepared: Sequence[_PreparedOverride], client: KubeClient) -> CommandResult:
    """Create the Overrides; a refusal does not stop the others. Raises ConfigError, KubeError for a single one."""
    user = await who_am_i(client)
    lines, created, failed = [], [], []
    for one in prepared:
        body = one.body
        if user:
            body["metadata"]["annotations"] = {REQUESTED_BY: user}
        try:
            stored = await _create(client, body)
        except KubeError as error:
            if len(prepared) == 1:
                raise
            failed.append(f"{one.line}: {error}")
            continue
        name = stored["metadata"]["name"]
        lines += [
            *(one.sentences if len(prepared) == 1 else ()),
            f"Override {name} is created{f' by {user}' if user else ''}; to end it earlier: "
            f"keda-py end override/{name} -n {one.namespace}",
        ]
        created.append(stored)
    return CommandResult(lines=lines, bodies=created, failed=failed)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Span of an Override: start, end (None is the next change), and the length as it was written."""

    starts: datetime
    ends: datetime | None
    length: timedelta | None


def _spans(wish: Wish, times: Times) -> _Spans:
    if wish.until and wish.length:
        raise ConfigError("--until and --for say the same twice; give one of them", field="--until")
    now, zone = times.now, times.reader
    starts = parse_moment(wish.begin, now, zone, field="--from") if wish.begin else now
    if wish.length:
        length = parse_length(wish.length, field="--for")
        return _Spans(starts, starts + length, length)
    if not wish.until or wish.until.lower() in _NEXT:
        return _Spans(starts, None, None)
    return _Spans(starts, parse_moment(wish.until, starts, zone, field="--until"), None)


async def _target(client: KubeClient, namespace: str, text: str) -> tuple[TargetKey, Environment | None]:
    """Resolve the target, with the Environment if it is one and the user may read it."""
    target = target_of(text)
    if target.kind != ENVIRONMENT:
        return target, None
    name = target.name
    try:
        live = await (get_environment(client, namespace, name) if name else only_environment(client, namespace))
    except Forbidden:  # a role may allow Overrides alone: the operator finds the only one, or says that it is missing
        return target, None
    environment = read_environment(live)
    return TargetKey(ENVIRONMENT, environment.metadata.name), environment


def target_of(text: str) -> TargetKey:
    """Parse a target: `dev` is an Environment, `deployment/web` another object. Raises ConfigError."""
    word, slash, name = text.rpartition("/")
    kind = _KINDS.get(word.lower()) if slash else ENVIRONMENT
    if kind is None or (slash and not name):
        raise ConfigError(
            f"NAME: {text[:100]!r} names no target; write the name of an Environment, or scaledobject/NAME, "
            "deployment/NAME or statefulset/NAME",
            field="NAME",
        )
    return TargetKey(kind, name)


def _body(namespace: str, wish: Wish, target: TargetKey, spans: _Spans) -> Obj:
    prefix = f"{target.name or 'environment'}-{_VERBS[wish.state]}"[:_LONGEST_PREFIX].rstrip("-.")
    spec: dict[str, Any] = {"state": wish.state.value}
    if target.name:
        spec["target"] = {"kind": target.kind, "name": target.name}
    if wish.begin:
        spec["from"] = write_time(spans.starts)
    if spans.length is not None:
        spec["for"] = wish.length
    else:
        spec["until"] = NEXT_CHANGE if spans.ends is None else write_time(spans.ends)
    if wish.reason:
        spec["reason"] = wish.reason
    metadata = {"namespace": namespace, "generateName": f"{prefix}-"}
    return {"apiVersion": OVERRIDES.api_version, "kind": OVERRIDES.kind, "metadata": metadata, "spec": spec}


async def _create(client: KubeClient, body: Obj) -> Obj:
    try:
        return await client.create(OVERRIDES, body)
    except NotFound as error:
        if "namespaces" in str(error):
            raise
        raise ConfigError(NOT_INSTALLED) from None


def wish_of(state: OverrideState, options: Namespace) -> Wish:
    """Build the wish from the options of the command line."""
    return Wish(
        state=state,
        until=options.until,
        length=options.length,
        begin=options.begin,
        reason=options.reason,
        dry_run=options.dry_run,
    )
