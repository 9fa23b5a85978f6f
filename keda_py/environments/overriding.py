"""`keda-py wake`, `sleep` and `hold`: an Override, made with the user's own rights, and what will come of it."""

from argparse import Namespace
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import NEXT_CHANGE, REQUESTED_BY
from keda_py.clock import SystemClock
from keda_py.core.environment.overrides import OverrideState, Target
from keda_py.core.values.times import write_time
from keda_py.environments.asking import (
    NOT_INSTALLED,
    get_environment,
    only_environment,
    read_environment,
    who_am_i,
)
from keda_py.environments.forecast import Plan, forecast
from keda_py.environments.moments import parse_length, parse_moment
from keda_py.environments.show import times_of, write_done
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
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
    """What the user wrote. `name` "": the only Environment; neither `until` nor `length`: the next change."""

    state: OverrideState
    name: str = ""
    namespace: str = ""
    until: str = ""
    length: str = ""
    begin: str = ""
    reason: str = ""
    as_json: bool = False
    dry_run: bool = False


async def override(kubeconfig: str, wish: Wish) -> None:
    """Create it and tell what will happen. Raises ConfigError, KubeError."""
    namespace = wish.namespace or context_namespace(kubeconfig)
    async with KubeClient(SystemClock(), kubeconfig) as client:
        sentences, body = await request(client, namespace, wish, times_of(client))
    write_done(sentences, body, as_json=wish.as_json)


async def request(client: KubeClient, namespace: str, wish: Wish, times: Times) -> tuple[list[str], Obj]:
    """The sentences, and the Override as it is stored, or as it would be. Raises ConfigError, KubeError."""
    spans = _spans(wish, times)
    target, environment = await _target(client, namespace, wish.name)
    body = _body(namespace, wish, target, spans)
    told = target.name if target.kind == ENVIRONMENT else f"{target.kind} {target.name}"
    plan = Plan(state=wish.state, target=told or "the Environment", starts=spans.starts, ends=spans.ends)
    sentences = list(forecast(plan, environment, times))
    if wish.dry_run:
        return [*sentences, "nothing is created: --dry-run"], body
    if user := await who_am_i(client):
        body["metadata"]["annotations"] = {REQUESTED_BY: user}
    created = await _create(client, body)
    name = created["metadata"]["name"]
    sentences.append(
        f"Override {name} is created{f' by {user}' if user else ''}; to end it earlier: "
        f"keda-py end override/{name} -n {namespace}"
    )
    return sentences, created


@dataclass(frozen=True, slots=True)
class _Spans:
    """From when, until when (None: the next change), and how long as it was written."""

    starts: datetime
    ends: datetime | None
    length: timedelta | None


def _spans(wish: Wish, times: Times) -> _Spans:
    if wish.until and wish.length:
        raise ConfigError("--until and --for say the same twice; give one of them", field="--until")
    now, zone = times.now, times.zone or ZoneInfo("UTC")
    starts = parse_moment(wish.begin, now, zone, field="--from") if wish.begin else now
    if wish.length:
        length = parse_length(wish.length, field="--for")
        return _Spans(starts, starts + length, length)
    if not wish.until or wish.until.lower() in _NEXT:
        return _Spans(starts, None, None)
    return _Spans(starts, parse_moment(wish.until, starts, zone, field="--until"), None)


async def _target(client: KubeClient, namespace: str, text: str) -> tuple[Target, Environment | None]:
    """The Environment, too, where the target is one and the user may read it."""
    target = target_of(text)
    if target.kind != ENVIRONMENT:
        return target, None
    name = target.name
    try:
        live = await (get_environment(client, namespace, name) if name else only_environment(client, namespace))
    except Forbidden:  # the role for Overrides alone: the operator finds the only one, or says that it is missing
        return target, None
    environment = read_environment(live)
    return Target(ENVIRONMENT, environment.metadata.name), environment


def target_of(text: str) -> Target:
    """As users write it: `dev` is an Environment, `deployment/web` another object. Raises ConfigError."""
    word, slash, name = text.rpartition("/")
    kind = _KINDS.get(word.lower()) if slash else ENVIRONMENT
    if kind is None or (slash and not name):
        raise ConfigError(
            f"NAME: {text[:100]!r} names no target; write the name of an Environment, or scaledobject/NAME, "
            "deployment/NAME or statefulset/NAME",
            field="NAME",
        )
    return Target(kind, name)


def _body(namespace: str, wish: Wish, target: Target, spans: _Spans) -> Obj:
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
    """Of what was read from the command line."""
    return Wish(
        state=state,
        name=options.name,
        namespace=options.namespace,
        until=options.until,
        length=options.length,
        begin=options.begin,
        reason=options.reason,
        as_json=options.output == "json",
        dry_run=options.dry_run,
    )
