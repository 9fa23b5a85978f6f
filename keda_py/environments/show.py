"""`keda-py env` from beginning to end: ask, and print a table, a page or JSON."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from keda_py.clock import SystemClock
from keda_py.environments.members import judged_members
from keda_py.environments.overview import draw_policies, fields_of_policy, line_of_live, overview
from keda_py.environments.page import body_of, page
from keda_py.environments.requests import find_environment, list_cluster_environments, list_environments
from keda_py.environments.zones import list_zones
from keda_py.kube.client import KubeClient
from keda_py.kube.config import context_namespace
from keda_py.terminal.console import console_of, tell
from keda_py.terminal.foreign import write_json
from keda_py.terminal.times import Times
from keda_py.terminal.zones import user_zone


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """Scope: `name` "" is all of `namespace`, which is "" for that of the context; `everywhere` is the cluster."""

    name: str = ""
    namespace: str = ""
    everywhere: bool = False
    as_json: bool = False
    policies: bool = False
    """ClusterEnvironments, or the one of that name."""


async def show(kubeconfig: str, wanted: ShowOptions) -> None:
    """Print the table, the page or JSON. Raises ConfigError, KubeError."""
    namespace = "" if wanted.everywhere else wanted.namespace or context_namespace(kubeconfig)
    async with KubeClient(SystemClock(), kubeconfig) as client:
        console = console_of(sys.stdout)
        times = times_of(client)
        text: Text
        body: Any
        if wanted.policies:
            text, body = await look_at_policies(client, wanted.name, console.width)
        elif wanted.name:
            text, body = await look_at_one(client, namespace, wanted.name, times, console.width)
        else:
            text, body = await look_at_all(client, namespace, times, console.width)
        if wanted.as_json:
            write_json(body)
        else:
            console.print(text, soft_wrap=True)


def times_of(client: KubeClient) -> Times:
    """Write times as the user's clock shows them; `Times.of` puts the zone of a Calendar before it."""
    return Times(now=client.clock.now(), reader=user_zone())


async def look_at_one(
    client: KubeClient, namespace: str, name: str, times: Times, width: int
) -> tuple[Text, dict[str, Any]]:
    """Read one Environment: its page, and its document for programs. Raises ConfigError, KubeError."""
    environment = await find_environment(client, namespace, name)
    members = await judged_members(client, environment)
    times = times.of((await list_zones(client, namespace)).of(environment))
    return page(environment, members, times, width), body_of(environment, members, times)


async def look_at_all(client: KubeClient, namespace: str, times: Times, width: int) -> tuple[Text, list[Any]]:
    """Read all Environments: table and documents; "" for every namespace. Raises ConfigError, KubeError."""
    found, zones = await list_environments(client, namespace), await list_zones(client, namespace)
    lines = [line_of_live(live, times, zones) for live in found]
    return overview(lines, width, all_namespaces=not namespace), [line.fields() for line in lines]


async def look_at_policies(client: KubeClient, name: str, width: int) -> tuple[Text, list[Any]]:
    """Read ClusterEnvironments: table and documents. Raises ConfigError, KubeError."""
    found = await list_cluster_environments(client, name)
    return draw_policies(found, width), [fields_of_policy(live) for live in found]


def write_done(sentences: Iterable[str], body: Any, *, as_json: bool) -> None:
    """Print what was done, in words or as the objects that were changed."""
    if as_json:
        write_json(body)
        return
    console = console_of(sys.stdout)
    for sentence in sentences:
        tell(console, sentence)
