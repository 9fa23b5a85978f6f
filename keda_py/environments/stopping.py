"""Stops an operator before its counts are given back for good, as at an uninstall: a running one would take them again.

From its SIGTERM on an operator writes nothing more, so that pods which still end do no harm.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.errors import ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.kube.scale import read_scale, write_scale

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
