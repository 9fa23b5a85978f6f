"""`keda-py release` from beginning to end: which Environments, and a line for each member."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from keda_py.clock import SystemClock
from keda_py.environments.releasing import ReleaseResult, Releasing
from keda_py.environments.requests import NotInstalled, get_environment, list_environments
from keda_py.environments.stopping import stopped
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
from keda_py.kube.resources import Obj
from keda_py.terminal.console import Text, console_of
from keda_py.terminal.foreign import write_json
from keda_py.terminal.table import Column, draw_table

COLUMNS = (
    Column(heading="Environment", style="bold", cuts=True),
    Column(heading="Member", cuts=True),
    Column(heading="Result", wraps=True),
)
_AFTER = (
    "An operator that runs leaves these counts alone until the next change of each calendar. Where none runs any more, "
    "delete the Environments and call this once more: it takes their finalizers off."
)
_AT_LAST = "The operator is stopped, and finalizers are off. What is remembered stays in the Environments, for another."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Scope: `name` of `namespace` ("": that of the context), or `everything` of `namespace` or of the cluster.

    With `everything`, `namespace` may list several, with commas. `stop` is the Deployment NAMESPACE/NAME of an
    operator that is stopped first, for good.
    """

    name: str = ""
    namespace: str = ""
    everything: bool = False
    as_json: bool = False
    dry_run: bool = False
    stop: str = ""


async def release(kubeconfig: str, scope: Scope) -> None:
    """Release, and print the results. Raises ConfigError, and KubeError if a count could not be given back."""
    namespace = scope.namespace or ("" if scope.everything else context_namespace(kubeconfig))
    async with KubeClient(SystemClock(), kubeconfig) as client:
        if not scope.stop:
            _print_results(
                scope, await release_all(client, await find(client, namespace, scope.name), dry_run=scope.dry_run)
            )
            return
        async with stopped(client, scope.stop):
            with suppress(NotInstalled):  # an uninstall has nothing to wait for then
                _print_results(scope, await release_all(client, await find(client, namespace, ""), last=True))


def _print_results(scope: Scope, done: Sequence[ReleaseResult]) -> None:
    """Print the results. Raises KubeError if a count could not be given back."""
    if scope.as_json:
        write_json([asdict(one) for one in done])
    else:
        console = console_of(sys.stdout)
        console.print(page(done, console.width, dry_run=scope.dry_run, last=bool(scope.stop)), soft_wrap=True)
    failed = [one.member for one in done if one.failed]
    if failed:
        raise KubeError(f"{len(failed)} of {len(done)} members have not got their counts back: {', '.join(failed[:5])}")


async def find(client: KubeClient, namespace: str, name: str) -> list[Obj]:
    """Find the Environments of the scope. Raises ConfigError, KubeError."""
    if name:
        return [await get_environment(client, namespace, name)]
    return [live for one in namespace.split(",") for live in await list_environments(client, one)]


async def release_all(
    client: KubeClient, lives: Sequence[Obj], *, dry_run: bool = False, last: bool = False
) -> list[ReleaseResult]:
    """Release one after another; an Environment that cannot be read is reported and does not stop the others."""
    releasing = Releasing(client, dry_run=dry_run, last=last)
    done: list[ReleaseResult] = []
    for live in lives:
        try:
            done += await releasing.release(live)
        except (ConfigError, KubeError) as error:
            where = f"{live['metadata']['namespace']}/{live['metadata']['name']}"
            done.append(ReleaseResult(environment=where, member="", outcome=str(error), failed=True))
    return done


def page(done: Sequence[ReleaseResult], width: int, *, dry_run: bool, last: bool = False) -> Text:
    """Render the results and their consequences."""
    if not done:
        return Text("nothing to give back: no Environment remembers a count")
    rows = [(one.environment, one.member, Text(one.outcome, "red" if one.failed else "")) for one in done]
    after = "nothing is changed: --dry-run" if dry_run else _AT_LAST if last else _AFTER
    return Text("\n\n").join([draw_table(COLUMNS, rows, width), Text(after)])
