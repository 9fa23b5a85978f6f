"""`keda-py release` from beginning to end: which Environments, and a line for each member."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass

from keda_py.clock import SystemClock
from keda_py.environments.releasing import ReleaseResult, Releasing
from keda_py.environments.requests import NotInstalled, get_environment, list_environments
from keda_py.errors import ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.kube.scale import read_scale, write_scale
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
            _print_results(scope, await release_last(client, namespace))


async def release_last(client: KubeClient, namespace: str) -> list[ReleaseResult]:
    """Release all Environments at an uninstall, then delete the slices of ScaledObjects that requests wake."""
    done: list[ReleaseResult] = []
    with suppress(NotInstalled):  # there are no Environments then
        done += await release_all(client, await find(client, namespace, ""), last=True)
    for one in namespace.split(","):
        done += await Releasing(client, last=True).delete_other_slices(one)
    return done


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


# Stops an operator before its counts are given back for good, as at an uninstall: a running one would take them again.
#
# From its SIGTERM on an operator writes nothing more, so that pods which still end do no harm.

# A pod has 30 s to end by default; twice as long leaves room for a slow kubelet.
WAIT_SECONDS, ASK_SECONDS = 60, 1.0
ATTEMPTS = 5
_TARGET = ScaleTarget(
    group=DEPLOYMENTS.group, version=DEPLOYMENTS.version, kind=DEPLOYMENTS.kind, resource=DEPLOYMENTS.plural
)


@asynccontextmanager
async def stopped(client: KubeClient, operator: str) -> AsyncIterator[None]:
    """Hold the Deployment NAMESPACE/NAME at 0; a failure inside the block puts its count back.

    A missing Deployment counts as stopped. Raises ConfigError for another form of name, and KubeError.
    """
    namespace, _, name = operator.partition("/")
    if not namespace or not name or "/" in name:
        text = f"--stop-operator: {operator!r} does not name a Deployment; write NAMESPACE/NAME"
        raise ConfigError(text, field="--stop-operator")
    try:
        before = await _scale(client, namespace, name, 0)
    except NotFound:
        before = 0
    try:
        await _wait_gone(client, namespace, name)
        yield
    # Also after an interrupt or a cancellation: an operator that stays at 0 would leave the whole cluster unscaled.
    except BaseException as failed:
        if before:
            await _restore_count(client, namespace, name, before, failed)
        raise


async def _restore_count(client: KubeClient, namespace: str, name: str, replicas: int, failed: BaseException) -> None:
    """Put the count back. Raises KubeError with both errors if that fails as well."""
    try:
        await _scale(client, namespace, name, replicas)
    except KubeError as error:
        text = f"operator {namespace}/{name} stays at 0: {error}; scale it by hand to {replicas}"
        raise KubeError(f"{str(failed) or type(failed).__name__}; and {text}") from failed


async def _scale(client: KubeClient, namespace: str, name: str, replicas: int) -> int:
    """Scale, and return the count before; repeated on conflicts, since ending pods change the status often."""
    for attempt in range(ATTEMPTS):
        seen = await read_scale(client, _TARGET, namespace, name)
        if seen.replicas == replicas:
            break
        try:
            await write_scale(client, _TARGET, namespace, name, replicas, seen.resource_version)
        except Conflict:
            if attempt + 1 == ATTEMPTS:
                raise
        else:
            break
    return seen.replicas


async def _wait_gone(client: KubeClient, namespace: str, name: str) -> None:
    for _ in range(WAIT_SECONDS):
        try:
            if not (await read_scale(client, _TARGET, namespace, name)).status_replicas:
                return
        except NotFound:
            return
        await client.clock.sleep(ASK_SECONDS)
    raise KubeError(f"operator {namespace}/{name} still runs after {WAIT_SECONDS} s, so nothing is given back")
