"""`keda-py completion SHELL`: the script that makes a shell complete commands, flags, namespaces and names.

At each TAB the shell runs `keda-py` with _ARGCOMPLETE set; argcomplete then answers instead of a command, from
the parser of the command on the line. Nothing of it is imported otherwise.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from keda_py.cli.parsers import command_parser

if TYPE_CHECKING:
    from keda_py.kube.client import KubeClient

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = (
    "Print the script that makes a shell complete commands, flags, files, trigger types, and the namespaces and names "
    "of the cluster that kubectl would use."
)
EXAMPLES = (
    ('eval "$(keda-py completion bash)"', "in ~/.bashrc"),
    ('eval "$(keda-py completion zsh)"', "in ~/.zshrc, after compinit"),
    ("keda-py completion fish > ~/.config/fish/completions/keda-py.fish", "once"),
)
# A cluster that answers later gives no names: a person waits at the prompt.
LIVE_SECONDS = 2.0


def run(arguments: list[str]) -> int:
    """Print the completion script of a shell."""
    parser = command_parser("completion", DESCRIPTION, EXAMPLES, usage="keda-py completion SHELL")
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    shell = parser.parse_args(arguments).shell
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(f"{shellcode(['keda-py'], shell=shell)}\n")
    return 0


def command_on_line(commands: Iterable[str]) -> str:
    """The command whose words are being written; "" while that is the command itself."""
    before = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or 0)]
    words = before.split()
    begun = words[1:2] if len(words) > 2 or before.endswith((" ", "\t")) else []
    return next((word for word in begun if word in commands), "")


def complete_command(commands: Iterable[str]) -> None:
    """Answer with the commands, and exit."""
    from argcomplete import autocomplete

    parser = argparse.ArgumentParser(prog="keda-py")
    parser.add_argument("command", choices=list(commands))
    autocomplete(parser, always_complete_options=False)


def names(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """List ScaledObjects as NAMESPACE/NAME; a completer of argcomplete."""
    return _live(getattr(parsed_args, "kubeconfig", None) or "", _list_names)


def namespaces(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """List the cluster's namespaces; a completer of argcomplete."""
    return _live(getattr(parsed_args, "kubeconfig", None) or "", _list_namespaces)


def environments(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """List the Environments of the namespace on the line; a completer of argcomplete."""
    kubeconfig, wanted = getattr(parsed_args, "kubeconfig", None) or "", getattr(parsed_args, "namespace", None) or ""

    async def list_them(client: "KubeClient") -> list[str]:
        from keda_py.kube.config import context_namespace
        from keda_py.kube.resources import ENVIRONMENTS

        found = await client.list(ENVIRONMENTS, wanted or context_namespace(kubeconfig))
        return [str(one["metadata"]["name"]) for one in found]

    return _live(kubeconfig, list_them)


def targets_of_overrides(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """List the Overrides of the namespace on the line, and their targets; a completer of argcomplete."""
    kubeconfig, wanted = getattr(parsed_args, "kubeconfig", None) or "", getattr(parsed_args, "namespace", None) or ""

    async def list_them(client: "KubeClient") -> list[str]:
        from keda_py.environments.ending import offered
        from keda_py.kube.config import context_namespace
        from keda_py.kube.resources import OVERRIDES

        return offered(await client.list(OVERRIDES, wanted or context_namespace(kubeconfig)))

    return _live(kubeconfig, list_them)


def types(prefix: str, **_: object) -> list[str]:
    """List trigger types; a completer of argcomplete."""
    from keda_py.sdk.registry import trigger_types

    return list(trigger_types())


def _live(kubeconfig: str, list_names: "Callable[[KubeClient], Awaitable[list[str]]]") -> list[str]:
    """Return names from the cluster; none if it refuses or is late, since a prompt has no place for errors."""
    from keda_py.clock import SystemClock
    from keda_py.errors import KedaPyError
    from keda_py.kube.client import KubeClient

    async def ask() -> list[str]:
        async with asyncio.timeout(LIVE_SECONDS), KubeClient(SystemClock(), kubeconfig) as client:
            return await list_names(client)

    try:
        return sorted(asyncio.run(ask()))
    except (KedaPyError, OSError):  # TimeoutError is an OSError
        return []


async def _list_names(client: "KubeClient") -> list[str]:
    from keda_py.explanation.requests import list_objects

    before = {"ScaledJob": "scaledjob/"}
    found = [(before.get(one["kind"], ""), one["metadata"]) for one in await list_objects(client, "")]
    return [f"{kind}{meta['namespace']}/{meta['name']}" for kind, meta in found]


async def _list_namespaces(client: "KubeClient") -> list[str]:
    from keda_py.kube.resources import NAMESPACES

    return [str(one["metadata"]["name"]) for one in await client.list(NAMESPACES)]
