"""`keda-py dashboard`: the page on loopback; see `keda_py/dashboard/`."""

import argparse
import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from keda_py.cli.parsers import COMPLETION, command_parser, completed_by
from keda_py.errors import ConfigError
from keda_py.settings.parsers import parse_port

DESCRIPTION = (
    "Show environments and objects on a page of this machine: what each does and why, the last day and the next three "
    "days, and buttons that keep something awake or asleep for a while. It sees and does what your kubeconfig allows; "
    "nothing is installed in the cluster. The address has a token: who has it can do what you can do here."
)
EXAMPLES = (
    ("keda-py dashboard", "every namespace; opens a browser"),
    ("keda-py dashboard -n shop --no-browser", "one namespace; only prints the address"),
)
NOTES = (
    "Ctrl-C ends it. The buttons create Overrides, which need the CRDs of Environments and the right to create them."
)


def run(arguments: list[str]) -> int:
    """Serve until interrupted."""
    options = _parse(arguments)
    try:
        port = parse_port(options.port)
    except ValueError as error:
        raise ConfigError(f"--port: {options.port!r} {error}") from None
    asyncio.run(_serve(options, port))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("dashboard", DESCRIPTION, EXAMPLES, notes=NOTES)
    add = parser.add_argument
    place = add("-n", "--namespace", default="", metavar="NS", help="this namespace alone [every namespace]")
    add("--port", default="0", metavar="PORT", help="of 127.0.0.1 [any free one]")
    add("--no-browser", action="store_true", help="open no browser")
    add("--kubeconfig", default="", metavar="FILE", help="of the cluster [as kubectl finds it]")
    completed_by(place, COMPLETION, "namespaces")
    return parser.parse_args(arguments)


async def _serve(options: argparse.Namespace, port: int) -> None:
    from keda_py.clock import SystemClock
    from keda_py.dashboard.server import Dashboard
    from keda_py.kube.client import KubeClient

    stopping, clock = asyncio.Event(), SystemClock()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(KubeClient(clock, options.kubeconfig))
        address = await stack.enter_async_context(Dashboard(client, options.namespace, clock).running(port))
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        if not options.no_browser:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="keda-py-")))
            await asyncio.to_thread(_open_browser, folder, address)
        await stopping.wait()


def _open_browser(folder: Path, address: str) -> None:
    """Open the page through a file of this user alone: every user of the machine can see a browser's command line."""
    import webbrowser

    page = folder / "index.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
    webbrowser.open(page.as_uri())
