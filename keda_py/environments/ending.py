"""`keda-py end`: an Override is over before its time, whether `wake`, `sleep` or `hold` made it, or another client.

It is deleted, with the user's own rights; the operator does the rest. Of several that are meant none is, until one of
them is named.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import name_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.clock import SystemClock
from keda_py.core.environment.overrides import Target
from keda_py.environments.asking import NOT_INSTALLED
from keda_py.environments.overriding import ENVIRONMENT, target_of
from keda_py.environments.show import times_of, write_done
from keda_py.environments.words import override_asked, time_of
from keda_py.errors import ConfigError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
from keda_py.kube.resources import OVERRIDES, Obj
from keda_py.terminal.times import Times

PREFIX = "override/"
_ENDED = "Ended"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`name` is a target as `wake` takes it, or override/NAME; "": whatever the namespace has."""

    name: str = ""
    namespace: str = ""
    everything: bool = False
    """All that are meant, not only one."""
    as_json: bool = False
    dry_run: bool = False


async def end(kubeconfig: str, wish: Ending) -> None:
    """Delete them and tell which. Raises ConfigError, KubeError."""
    namespace = wish.namespace or context_namespace(kubeconfig)
    async with KubeClient(SystemClock(), kubeconfig) as client:
        sentences, ended = await end_overrides(client, namespace, wish, times_of(client))
    write_done(sentences, ended, as_json=wish.as_json)


async def end_overrides(client: KubeClient, namespace: str, wish: Ending, times: Times) -> tuple[list[str], list[Obj]]:
    """What is told, and the Overrides as they were. Raises ConfigError, KubeError."""
    known = [one for one in await _read(client, namespace) if not _is_over(one, times)]
    meant = _meant(known, wish.name, namespace)
    if len(meant) > 1 and not wish.everything:
        listed = "; ".join(f"{PREFIX}{_name(one)}: {override_asked(one, times)}" for one in meant[:_MOST_NAMED])
        raise ConfigError(f"{len(meant)} Overrides are meant, name one of them, or give --all: {listed}", field="NAME")
    if not wish.dry_run:
        for one in meant:
            await _delete(client, namespace, _name(one))
    return list(_tell(meant, known, wish, times)), [
        one.model_dump(by_alias=True, exclude_defaults=True) for one in meant
    ]


def _tell(meant: Sequence[Override], known: Sequence[Override], wish: Ending, times: Times) -> Iterator[str]:
    for one in meant:
        yield f"Override {_name(one)} {'would end' if wish.dry_run else 'is ended'}: {override_asked(one, times)}"
    kept = [one for one in known if one not in meant and _has_begun(one, times)]
    for target in sorted({_target(one) for one in meant if _has_begun(one, times)}, key=str):
        rules = [f"Override {_name(one)}" for one in kept if _target(one) == target]
        usual = "its calendar" if target.kind == ENVIRONMENT else "what ruled it before"
        yield f"{f'{target.kind} {target.name}'.strip()}: {(rules or [usual])[-1]} rules again, at once"
    if wish.dry_run:
        yield "nothing is changed: --dry-run"


async def _read(client: KubeClient, namespace: str) -> list[Override]:
    """The oldest first. Those that cannot be read rule nothing, but can be named."""
    try:
        lives = await client.list(OVERRIDES, namespace)
    except NotFound:
        raise ConfigError(NOT_INSTALLED) from None
    found = []
    for live in lives:
        try:
            found.append(parse_object(Override, live))
        except ConfigError:
            found.append(Override.model_validate({"metadata": live["metadata"], "spec": {}}))
    return sorted(found, key=lambda one: (one.metadata.creation_timestamp, one.metadata.name))


def _meant(known: Sequence[Override], text: str, namespace: str) -> list[Override]:
    name = text.removeprefix(PREFIX)
    if text.startswith(PREFIX):
        found = [one for one in known if _name(one) == name]
    else:
        target = target_of(text) if text else None
        found = [one for one in known if target is None or _means(one, target)]
    if found:
        return found
    about = f" {name!r}" if text.startswith(PREFIX) else f" for {text!r}" if text else ""
    listed = ", ".join(f"{PREFIX}{_name(one)}" for one in known[:_MOST_NAMED])
    there = f"there are {listed}" if known else "it has none at all; another namespace is given with -n"
    raise ConfigError(f"namespace {namespace!r} has no Override{about} that has not ended: {there}", field="NAME")


def _means(one: Override, target: Target) -> bool:
    """One without a target is about the namespace's only Environment."""
    own = _target(one)
    return own == target or (own == Target(ENVIRONMENT, "") and target.kind == ENVIRONMENT)


def _target(one: Override) -> Target:
    target = one.spec.target
    return Target(ENVIRONMENT, "") if target is None else Target(target.kind, target.name)


def _name(one: Override) -> str:
    return one.metadata.name


def _is_over(one: Override, times: Times) -> bool:
    ends = time_of(one.status.ends)
    return one.status.phase == _ENDED or (ends is not None and ends <= times.now)


def _has_begun(one: Override, times: Times) -> bool:
    starts = time_of(one.status.starts)
    return starts is None or starts <= times.now


async def _delete(client: KubeClient, namespace: str, name: str) -> None:
    try:
        await client.delete(OVERRIDES.named(namespace, name))
    except NotFound:
        return  # another has ended it meanwhile


def offered(lives: Sequence[Obj]) -> list[str]:
    """What a shell may complete: override/NAME of each that has not ended, and its target as users write it."""
    found = set()
    for live in lives:
        if text_at(live, "status", "phase") == _ENDED:
            continue
        found.add(f"{PREFIX}{name_of(live)}")
        kind, name = text_at(live, "spec", "target", "kind"), text_at(live, "spec", "target", "name")
        if name:
            found.add(name if kind == ENVIRONMENT else f"{kind.lower()}/{name}")
    return sorted(found)


def ending_of(options: Namespace) -> Ending:
    """Of what was read from the command line."""
    return Ending(
        name=options.name,
        namespace=options.namespace,
        everything=options.all,
        as_json=options.output == "json",
        dry_run=options.dry_run,
    )
