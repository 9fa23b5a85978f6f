"""`keda-py end`: an Override is over before its time, whether `wake`, `sleep` or `hold` made it, or another client.

It is deleted, with the user's own rights; the operator does the rest. If several match, none is
deleted until one of them is named.
"""

from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import name_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.overrides import TargetKey
from keda_py.environments.multiple_targets import (
    Choice,
    CommandResult,
    PlannedAction,
    Printing,
    carry_out,
    chosen_environments,
    place_of,
)
from keda_py.environments.overriding import ENVIRONMENT, target_of
from keda_py.environments.requests import NOT_INSTALLED
from keda_py.environments.show import times_of
from keda_py.environments.words import override_asked, time_of
from keda_py.environments.zones import OverrideTimes, read_override_times
from keda_py.errors import ConfigError, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import OVERRIDES, Obj
from keda_py.terminal.times import Times

PREFIX = "override/"
_ENDED = "Ended"
_DRY = "nothing is changed: --dry-run"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Request to end Overrides: `name` is a target as `wake` takes it, or override/NAME; "" matches them all."""

    name: str = ""
    everything: bool = False
    """End every match, not only a single one."""
    dry_run: bool = False


def end(kubeconfig: str, wish: Ending, choice: Choice, printing: Printing) -> int:
    """Delete the Overrides and print which; returns the exit code. Raises ConfigError, KubeError."""
    return carry_out(kubeconfig, partial(propose, wish, choice), choice, printing)


async def propose(wish: Ending, choice: Choice, client: KubeClient, namespace: str) -> PlannedAction:
    """Propose the Overrides that would end, and say what rules then. Raises ConfigError, KubeError."""
    times = await read_override_times(client, "" if choice.everywhere else namespace, times_of(client))
    if choice.is_single:
        meant = [await _of_one(client, namespace, replace(wish, name="".join(choice.names)), times)]
    elif choice.names:
        meant = [await _of_names(client, namespace, wish, choice, times)]
    else:
        meant = await _of_many(client, namespace, choice, times)
    planned = [line for one in meant for line in one.tell(times, done=False, with_place=choice.everywhere)]
    number = sum(len(one.ending) for one in meant)
    question = f"End {'this Override' if number == 1 else f'these {number} Overrides'}?"
    return PlannedAction(
        lines=[*planned, _DRY] if wish.dry_run else planned,
        bodies=[_body(one) for each in meant for one in each.ending],
        question="" if choice.is_single else question,
        perform=partial(_delete_all, meant, times),
    )


async def end_overrides(client: KubeClient, namespace: str, wish: Ending, reader: Times) -> tuple[list[str], list[Obj]]:
    """End Overrides; (sentences, the Overrides as they were). Raises ConfigError, KubeError."""
    times = await read_override_times(client, namespace, reader)
    meant = await _of_one(client, namespace, wish, times)
    if wish.dry_run:
        return [*meant.tell(times, done=False), _DRY], [_body(one) for one in meant.ending]
    outcome = await _delete_all([meant], times, client)
    return list(outcome.lines), list(outcome.bodies)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OverridesToEnd:
    """Overrides of a namespace that are to end, and all that have not ended there."""

    namespace: str
    ending: Sequence[Override]
    known: Sequence[Override]

    def tell(self, times: OverrideTimes, *, done: bool, with_place: bool = False) -> Iterator[str]:
        """Say what ends, or has ended, and what rules then."""
        place = f"{self.namespace}: " if with_place else ""
        return (f"{place}{line}" for line in _sentences(self.ending, self.known, times, done=done))


async def _existing_overrides(client: KubeClient, namespace: str, times: OverrideTimes) -> list[Override]:
    return [one for one in await _read(client, namespace) if not _is_over(one, times)]


async def _of_one(client: KubeClient, namespace: str, wish: Ending, times: OverrideTimes) -> _OverridesToEnd:
    known = await _existing_overrides(client, namespace, times)
    return _OverridesToEnd(namespace=namespace, ending=_named(known, wish, namespace, times), known=known)


def _named(known: Sequence[Override], wish: Ending, namespace: str, times: OverrideTimes) -> list[Override]:
    meant = _matching(known, wish.name, namespace)
    if len(meant) > 1 and not wish.everything:
        listed = "; ".join(f"{PREFIX}{_name(one)}: {override_asked(one, times.of(one))}" for one in meant[:_MOST_NAMED])
        raise ConfigError(f"{len(meant)} Overrides are meant, name one of them, or give --all: {listed}", field="NAME")
    return meant


async def _of_names(
    client: KubeClient, namespace: str, wish: Ending, choice: Choice, times: OverrideTimes
) -> _OverridesToEnd:
    """Find the Overrides of several names: one each, or with --all any number. Raises ConfigError with all mistakes."""
    known, found, wrong = await _existing_overrides(client, namespace, times), set[str](), list[str]()
    for name in choice.names:
        try:
            found |= {_name(one) for one in _named(known, replace(wish, name=name), namespace, times)}
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("; ".join(wrong), field="NAME")
    return _OverridesToEnd(namespace=namespace, ending=[one for one in known if _name(one) in found], known=known)


async def _of_many(client: KubeClient, namespace: str, choice: Choice, times: OverrideTimes) -> list[_OverridesToEnd]:
    """Find Overrides by namespace: all with `-A`; with `-l` those about Environments that have these labels."""
    known = await _existing_overrides(client, "" if choice.everywhere else namespace, times)
    labelled = None
    if choice.selector:
        lives = await chosen_environments(client, namespace, choice)
        labelled = {place_of(live) for live in lives}
    meant = []
    for where, group in groupby(sorted(known, key=_namespace), key=_namespace):
        of_namespace = list(group)
        ending = [one for one in of_namespace if labelled is None or _is_about(one, where, labelled)]
        if ending:
            meant.append(_OverridesToEnd(namespace=where, ending=ending, known=of_namespace))
    if not meant:
        about = f" of an Environment with labels {choice.selector!r}" if choice.selector else ""
        raise ConfigError(
            f"there is no Override{about} that has not ended; `keda-py env -A` tells who rules", field="-A"
        )
    return meant


def _is_about(one: Override, namespace: str, environments: Collection[tuple[str, str]]) -> bool:
    """Whether it is about one of these Environments; without a target it is about the namespace's only one."""
    target = _target(one)
    if target.kind != ENVIRONMENT:
        return False
    return any(where == namespace and target.name in ("", name) for where, name in environments)


async def _delete_all(meant: Sequence[_OverridesToEnd], times: OverrideTimes, client: KubeClient) -> CommandResult:
    """Delete the Overrides; a refusal does not stop the others. Raises KubeError for a single one."""
    lines, ended, failed = list[str](), list[Obj](), list[str]()
    number = sum(len(each.ending) for each in meant)
    for each in meant:
        gone = []
        for one in each.ending:
            try:
                await _delete(client, each.namespace, _name(one))
            except KubeError as error:
                if number == 1:
                    raise
                failed.append(f"{each.namespace}/{_name(one)}: {error}")
            else:
                gone.append(one)
        lines += replace(each, ending=gone).tell(times, done=True, with_place=len(meant) > 1)
        ended += map(_body, gone)
    return CommandResult(lines=lines, bodies=ended, failed=failed)


def _body(one: Override) -> Obj:
    return one.model_dump(by_alias=True, exclude_defaults=True)


def _sentences(
    meant: Sequence[Override], known: Sequence[Override], times: OverrideTimes, *, done: bool
) -> Iterator[str]:
    for one in meant:
        yield f"Override {_name(one)} {'is ended' if done else 'would end'}: {override_asked(one, times.of(one))}"
    kept = [one for one in known if one not in meant and _has_begun(one, times)]
    for target in sorted({_target(one) for one in meant if _has_begun(one, times)}, key=str):
        rules = [f"Override {_name(one)}" for one in kept if _target(one) == target]
        usual = "its calendar" if target.kind == ENVIRONMENT else "what ruled it before"
        yield f"{f'{target.kind} {target.name}'.strip()}: {(rules or [usual])[-1]} rules again, at once"


async def _read(client: KubeClient, namespace: str) -> list[Override]:
    """Read the Overrides, oldest first; an unreadable one rules nothing but can be named."""
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


def _matching(known: Sequence[Override], text: str, namespace: str) -> list[Override]:
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


def _means(one: Override, target: TargetKey) -> bool:
    """Whether a target names it; an Override without a target is about the namespace's only Environment."""
    own = _target(one)
    return own == target or (own == TargetKey(ENVIRONMENT, "") and target.kind == ENVIRONMENT)


def _target(one: Override) -> TargetKey:
    target = one.spec.target
    return TargetKey(ENVIRONMENT, "") if target is None else TargetKey(target.kind, target.name)


def _namespace(one: Override) -> str:
    return one.metadata.namespace


def _name(one: Override) -> str:
    return one.metadata.name


def _is_over(one: Override, times: OverrideTimes) -> bool:
    ends = time_of(one.status.ends)
    return one.status.phase == _ENDED or (ends is not None and ends <= times.reader.now)


def _has_begun(one: Override, times: OverrideTimes) -> bool:
    starts = time_of(one.status.starts)
    return starts is None or starts <= times.reader.now


async def _delete(client: KubeClient, namespace: str, name: str) -> None:
    try:
        await client.delete(OVERRIDES.named(namespace, name))
    except NotFound:
        return  # another has ended it meanwhile


def offered(lives: Sequence[Obj]) -> list[str]:
    """List completions: override/NAME of each Override that has not ended, and its target as users write it."""
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
    """Build the request from the options of the command line."""
    return Ending(everything=options.all, dry_run=options.dry_run)
