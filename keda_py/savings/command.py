"""`keda-py savings` from beginning to end: list with the user's rights, sum up, print."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from keda_py.clock import SystemClock
from keda_py.core.savings.statement import Prices
from keda_py.errors import ConfigError, Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS, STATEFUL_SETS, Obj, Resource
from keda_py.savings.pages import document, statement
from keda_py.savings.reading import indexed, read_accounts
from keda_py.terminal.console import console_of

ENVIRONMENTS = Resource(group="keda-py.dev", version="v1alpha1", kind="Environment", plural="environments")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`namespace` "": all; `month` "": this one."""

    namespace: str
    month: str
    prices: Prices
    as_json: bool = False


async def tell_savings(kubeconfig: str, wanted: Wanted) -> None:
    """To stdout. Raises ConfigError, KubeError."""
    month = month_of(wanted.month)
    async with KubeClient(SystemClock(), kubeconfig) as client:
        objects = await client.list(SCALED_OBJECTS, wanted.namespace)
        workloads: dict[tuple[str, str, str], Obj] = {}
        for resource in (DEPLOYMENTS, STATEFUL_SETS):
            workloads |= indexed(await _list(client, resource, wanted.namespace), resource.kind)
        environments = await _list(client, ENVIRONMENTS, wanted.namespace)
    accounts = read_accounts(objects, workloads, environments, SystemClock().now())
    if wanted.as_json:
        body = document(accounts, month, wanted.prices)
        sys.stdout.buffer.write(orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return
    console = console_of(sys.stdout)
    console.print(statement(accounts, month, wanted.prices, console.width), soft_wrap=True)


async def _list(client: KubeClient, resource: Resource, namespace: str) -> list[Obj]:
    """None of what is not installed. What may not be listed is told: requests, or Environments, are not known then."""
    try:
        return await client.list(resource, namespace)
    except NotFound:
        return []
    except Forbidden as error:
        sys.stderr.write(f"{resource.plural} may not be listed: {error}\n")
        return []


def month_of(text: str) -> str:
    """As a ledger names it; "": the present one, UTC. Raises ConfigError."""
    if not text:
        return f"{SystemClock().now():%Y-%m}"
    try:
        return f"{datetime.strptime(text, '%Y-%m').replace(tzinfo=UTC):%Y-%m}"
    except ValueError:
        raise ConfigError(
            f"--month: {text[:40]!r} is not a month; write for example 2026-11", field="--month"
        ) from None
