"""`keda-py savings` from beginning to end: list with the user's rights, sum up, print."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime

from keda_py.apis.foreign import value_at
from keda_py.clock import SystemClock
from keda_py.core.defaults.bodies import DefaultsOfBodies
from keda_py.core.savings.statement import Against, Prices, StatementPeriod
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    CLUSTER_KEDA_DEFAULTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    KEDA_DEFAULTS,
    NAMESPACES,
    OVERRIDES,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    Obj,
    Resource,
)
from keda_py.replay.reading.cluster import with_kind
from keda_py.savings.pages import ClusterAccounts, document, statement
from keda_py.savings.reading import count_waiting, count_without_days, indexed, read_accounts, read_overrides
from keda_py.terminal.console import console_of
from keda_py.terminal.foreign import printable, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsOptions:
    """Scope of a statement: `namespace` "" is all of them, `month` "" the present one."""

    namespace: str
    month: str
    prices: Prices
    against: Against = Against.HPA
    as_json: bool = False


async def tell_savings(kubeconfig: str, wanted: SavingsOptions) -> None:
    """Print the statement. Raises ConfigError, KubeError."""
    clock = SystemClock()
    period = period_of(wanted, clock.now())
    async with KubeClient(clock, kubeconfig) as client:
        objects = await client.list(SCALED_OBJECTS, wanted.namespace)
        workloads: dict[tuple[str, str, str], Obj] = {}
        for resource in (DEPLOYMENTS, STATEFUL_SETS):
            workloads |= indexed(await _list(client, resource, wanted.namespace), resource.kind)
        environments = await _list(client, ENVIRONMENTS, wanted.namespace)
        overrides = await _list(client, OVERRIDES, wanted.namespace)
        defaults = await _read_defaults(client, wanted.namespace)
    found = ClusterAccounts(
        accounts=read_accounts(objects, workloads, environments, clock.now(), defaults.layers),
        overrides=read_overrides(overrides, environments),
        waiting=count_waiting(objects, environments),
        without_days=count_without_days(environments),
    )
    if wanted.as_json:
        write_json(document(found, period, wanted.prices))
        return
    console = console_of(sys.stdout)
    console.print(statement(found, period, wanted.prices, console.width), soft_wrap=True)


async def _read_defaults(client: KubeClient, namespace: str) -> DefaultsOfBodies:
    """Read KedaDefaults, and the labels by which those of the cluster select namespaces."""
    found = [
        *with_kind(KEDA_DEFAULTS, await _list(client, KEDA_DEFAULTS, namespace)),
        *with_kind(CLUSTER_KEDA_DEFAULTS, await _list(client, CLUSTER_KEDA_DEFAULTS, "")),
    ]
    if any(value_at(one, "spec", "namespaceSelector") for one in found):
        found += with_kind(NAMESPACES, await _list(client, NAMESPACES, ""))
    return DefaultsOfBodies(found)


async def _list(client: KubeClient, resource: Resource, namespace: str) -> list[Obj]:
    """List a kind, nothing if it is not installed. A refusal is printed: requests or Environments are unknown then."""
    try:
        return await client.list(resource, namespace)
    except NotFound:
        return []
    except Forbidden as error:
        sys.stderr.write(f"{resource.plural} may not be listed: {printable(str(error))}\n")
        return []


def period_of(wanted: SavingsOptions, now: datetime) -> StatementPeriod:
    """Resolve the period of the statement. Raises ConfigError."""
    if wanted.against is Against.LAST_WEEK and wanted.month:
        text = "--month: --against last-week is about the seven days before today; leave out --month"
        raise ConfigError(text, field="--month")
    return StatementPeriod(month=month_of(wanted.month, now), until=now, against=wanted.against)


def month_of(text: str, now: datetime) -> str:
    """Return the month as ledgers name it; "" is the present one in UTC. Raises ConfigError."""
    if not text:
        return f"{now:%Y-%m}"
    try:
        return f"{datetime.strptime(text, '%Y-%m').replace(tzinfo=UTC):%Y-%m}"
    except ValueError:
        raise ConfigError(
            f"--month: {text[:40]!r} is not a month; write for example 2026-11", field="--month"
        ) from None
