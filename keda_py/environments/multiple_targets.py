"""Several targets of one command: which are meant, what will happen, one question, and what became of each.

A single name is acted on without a question. What is chosen by `-A` or `-l`, or named
beside others, is listed first; nothing is done before all of it was found.
"""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keda_py.apis.foreign import name_of, namespace_of
from keda_py.clock import SystemClock
from keda_py.core.values.selectors import LabelSelector
from keda_py.environments.requests import list_environments
from keda_py.environments.show import write_done
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
from keda_py.kube.resources import Obj
from keda_py.terminal.console import confirm

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Choice of targets: names, or all of one namespace ("": that of the context) or of every one, by labels.

    `yes` skips the question.
    """

    names: tuple[str, ...] = ()
    namespace: str = ""
    everywhere: bool = False
    selector: str = ""
    yes: bool = False

    @property
    def is_single(self) -> bool:
        """Whether at most one target is meant, by its name or as the only one there is."""
        return len(self.names) < 2 and not self.everywhere and not self.selector


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """Result of a command, in words and as objects; `failed` are the errors of objects that stayed as they were."""

    lines: Sequence[str]
    bodies: Sequence[Any]
    failed: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """Proposal of what will happen. If `question` is "", none is asked and `perform` prints everything."""

    lines: Sequence[str]
    bodies: Sequence[Any]
    question: str = ""
    perform: Callable[[KubeClient], Awaitable[CommandResult]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printing:
    """Output format, and whether the command only shows what it would do."""

    as_json: bool = False
    dry_run: bool = False


def carry_out(
    kubeconfig: str, propose: Callable[[KubeClient, str], Awaitable[PlannedAction]], choice: Choice, printing: Printing
) -> int:
    """Propose, ask, do; returns the exit code. Raises ConfigError, and KubeError if something could not be done.

    The question stands between two loops, so that an interrupt ends it at once.
    """
    namespace = choice.namespace or context_namespace(kubeconfig)

    async def proposed() -> PlannedAction:
        async with KubeClient(SystemClock(), kubeconfig) as client:
            return await propose(client, namespace)

    async def performed(proposal: PlannedAction) -> CommandResult:
        async with KubeClient(SystemClock(), kubeconfig) as client:
            return await proposal.perform(client)

    proposal = asyncio.run(proposed())
    if printing.dry_run:
        _write(CommandResult(lines=proposal.lines, bodies=proposal.bodies), choice, printing)
        return 0
    # Both loops have ended or not begun here: a person may take minutes to answer, and no connection stays open.
    # The proposal is carried out as it was shown; each write fails by itself if its object has changed.
    if proposal.question and not confirm(proposal.lines, proposal.question, yes=choice.yes):
        sys.stderr.write("nothing is changed\n")
        return 1
    _write(asyncio.run(performed(proposal)), choice, printing)
    return 0


def _write(outcome: CommandResult, choice: Choice, printing: Printing) -> None:
    """Print the outcome; a single target as one object, not as a list."""
    bodies = outcome.bodies
    write_done(outcome.lines, bodies[0] if choice.is_single and len(bodies) == 1 else bodies, as_json=printing.as_json)
    if outcome.failed:
        more = f"; and {len(outcome.failed) - _MOST_NAMED} more" if len(outcome.failed) > _MOST_NAMED else ""
        total = len(outcome.failed) + len(bodies)
        raise KubeError(f"{len(outcome.failed)} of {total} failed: {'; '.join(outcome.failed[:_MOST_NAMED])}{more}")


async def chosen_environments(client: KubeClient, namespace: str, choice: Choice) -> list[Obj]:
    """The Environments that `-A` and `-l` choose, at least one. Raises ConfigError, KubeError."""
    selector = read_selector(choice.selector)
    where = "" if choice.everywhere else namespace
    found = [live for live in await list_environments(client, where) if selector.matches(live)]
    if not found:
        labelled = f" with labels {choice.selector!r}" if choice.selector else ""
        scope = "the cluster" if choice.everywhere else f"namespace {namespace!r}"
        raise ConfigError(f"{scope} has no Environment{labelled}; `keda-py env -A` lists all", field="-l")
    return found


def read_selector(text: str) -> LabelSelector:
    """Parse a selector as kubectl does, `team=web,tier!=db`. Raises ConfigError."""
    try:
        return LabelSelector.parse(text)
    except ValueError as error:
        raise ConfigError(f"-l: {text!r} is no selector: {error}; write for example team=web", field="-l") from None


def place_of(live: Mapping[str, Any]) -> tuple[str, str]:
    """Return (namespace, name)."""
    return namespace_of(live), name_of(live)


def choice_of(options: Namespace) -> Choice:
    """Build the choice from the options of the command line."""
    return Choice(
        names=tuple(dict.fromkeys(options.names)),
        namespace=options.namespace,
        everywhere=options.all_namespaces,
        selector=options.selector,
        yes=options.yes,
    )


def printing_of(options: Namespace) -> Printing:
    """Build the output format from the options of the command line."""
    return Printing(as_json=options.output == "json", dry_run=options.dry_run)
