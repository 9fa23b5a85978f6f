"""`keda-py local`: the embedded cluster on this machine, with the operator beside it unless told otherwise.

`keda_py/localkube` knows nothing of the operator: this file starts the one when the other is ready.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path

from keda_py.cli.operator import configure_logs, loop_factory
from keda_py.cli.parsers import command_parser
from keda_py.settings import load_settings

DESCRIPTION = (
    "Start an in-memory Kubernetes API server with the controllers that autoscaling needs, install the CRDs, and run "
    "the operator against it. kubectl works with the kubeconfig it writes; everything is gone when it ends."
)
EXAMPLES = (
    ("keda-py local -f examples/nightly-scale-down/", "apply manifests at start"),
    ("keda-py local --no-operator --kubeconfig ./kubeconfig", "a cluster to run an operator against"),
)
_LOOPBACK = "127.0.0.1"


def run(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = _parse(arguments)
    configure_logs(load_settings({"zap-log-level": ["debug" if options.verbose else "info"]}, {}).logs)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(options))
    return 0


async def _serve(options: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    from keda_py.localkube.cluster import ClusterOptions
    from keda_py.localkube.command import LocalOptions, run_local  # heavy: not for --help

    with tempfile.TemporaryDirectory(prefix="keda-py-") as private:
        local = LocalOptions(
            files=tuple(options.file),
            kubeconfig=options.kubeconfig or Path(private, "kubeconfig"),
            cluster=ClusterOptions(port=options.port),
        )
        beside = partial(_run_operator, stopping) if options.operator else None
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(run_local(local, _announce, beside))
            await asyncio.wait([serving, tasks.create_task(stopping.wait())], return_when=asyncio.FIRST_COMPLETED)
            stopping.set()
            if not options.operator:
                serving.cancel()


def _announce(kubeconfig: str) -> None:
    sys.stdout.write(kubeconfig)
    sys.stdout.flush()


async def _run_operator(stopping: asyncio.Event, kubeconfig: Path) -> None:
    """The operator as `keda-py operator` runs it, against that cluster, on free ports of this machine."""
    from keda_py.clock import SystemClock
    from keda_py.operator import app  # heavy: not for --help

    secure, webhook = _free_port(), _free_port()
    flags = {
        "kubeconfig": str(kubeconfig),
        "bind-address": _LOOPBACK,
        "secure-port": str(secure),
        "webhook-port": str(webhook),
        "metrics-bind-address": f"{_LOOPBACK}:0",
        "health-probe-bind-address": f"{_LOOPBACK}:0",
        "register": f"https://{_LOOPBACK}:{secure}",
    }
    settings = load_settings({flag: [value] for flag, value in flags.items()}, os.environ)
    await app.run_operator(settings, SystemClock(), stopping)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("local", DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "-f", "--file", type=Path, action="append", default=[], metavar="PATH", help="manifests: file or directory"
    )
    parser.add_argument("--no-operator", dest="operator", action="store_false", help="the cluster alone")
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="of the API server [any free one]")
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig there [it is printed]", default=None
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log each poll")
    return parser.parse_args(arguments)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
