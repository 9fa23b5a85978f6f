"""`keda-py local`: the embedded cluster on this machine, with the operator beside it unless told otherwise.

`keda_py/localkube` knows nothing of the operator: here the two meet.
"""

import argparse
import asyncio
import logging
import os
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keda_py.cli.operator import configure_logs
from keda_py.cli.parsers import command_parser
from keda_py.operator.process.loops import loop_factory
from keda_py.operator.process.memory import collect_young
from keda_py.settings.settings import load_settings

DESCRIPTION = (
    "Start an in-memory Kubernetes API server with the controllers that autoscaling needs, install the CRDs, and run "
    "the operator against it. kubectl works with the kubeconfig that it prints (on a terminal: with the file that it "
    "names); the cluster is gone when it ends."
)
EXAMPLES = (
    ("keda-py local -f examples/nightly-scale-down/", "apply manifests at start"),
    ("helm template app charts/scaled-app | keda-py local -f -", "what a chart renders"),
    ("keda-py local --no-operator --kubeconfig ./kubeconfig", "a cluster to run an operator against"),
    ("keda-py local > kubeconfig & kubectl --kubeconfig kubeconfig get so -A -w", "look at it"),
)
_LOOPBACK = "127.0.0.1"
_WATCHDOG, _SCALER = "keda_py.operator.process.watchdog", "scaler "


def run(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = _parse(arguments)
    configure_logs(load_settings({"zap-log-level": ["debug" if options.verbose else "info"]}, {}).logs)
    stopped = suppress(asyncio.CancelledError)  # SIGTERM
    with stopped, without_own_stalls(), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(options))
    return 0


@contextmanager
def without_own_stalls() -> Iterator[None]:
    """Limit the watchdog's warnings to scalers: here the operator's loop is the embedded cluster's, too.

    A stall of that cluster, at its start or at a large `kubectl apply`, says nothing about the operator.
    """
    log = logging.getLogger(_WATCHDOG)
    log.addFilter(_is_of_a_scaler)
    try:
        yield
    finally:
        log.removeFilter(_is_of_a_scaler)


def _is_of_a_scaler(record: logging.LogRecord) -> bool:
    return str(getattr(record, "culprit", _SCALER)).startswith(_SCALER)


async def _serve(options: argparse.Namespace) -> None:
    from keda_py.core.hpa.controller import ControllerOptions
    from keda_py.localkube.cluster import ClusterOptions
    from keda_py.localkube.command import LocalOptions, run_local  # heavy: not for --help

    if not options.operator:
        collect_young()
    if (serving := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    hpa = ControllerOptions(scale_to_zero=options.hpa_scale_to_zero)
    cluster = ClusterOptions(port=options.port, enforce_rbac=options.enforce_rbac, hpa=hpa)
    with tempfile.TemporaryDirectory(prefix="keda-py-") as private:
        kubeconfig = options.kubeconfig or Path(private, "kubeconfig")
        wanted = LocalOptions(files=tuple(options.filename), kubeconfig=kubeconfig, cluster=cluster)
        await run_local(wanted, _announcement(kubeconfig), _run_operator if options.operator else None)


def _announcement(path: Path) -> Callable[[str], None]:
    """Return the printer of an address: the kubeconfig itself for a pipe or a file, commands to paste for a person."""

    def announce(kubeconfig: str) -> None:
        sys.stdout.write(f"export KUBECONFIG={shlex.quote(str(path))}\n" if sys.stdout.isatty() else kubeconfig)
        sys.stdout.flush()

    return announce


async def _run_operator(kubeconfig: Path) -> None:
    """Run the operator as `keda-py operator` does, against that cluster and on free ports, until a signal."""
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
        "cluster-environments": "true",
        "keda-defaults": "true",
    }
    await app.run(load_settings({flag: [value] for flag, value in flags.items()}, os.environ))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("local", DESCRIPTION, EXAMPLES)
    add = parser.add_argument
    add(
        "-f",
        "--filename",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="manifests: file, folder, or - for standard input",
    )
    add("--no-operator", dest="operator", action="store_false", help="the cluster alone")
    add("--port", type=_port, default=0, metavar="PORT", help="of the API server [any free one]")
    add("--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig there, too [a temporary file]")
    add("--enforce-rbac", action="store_true", help="refuse what Roles do not allow")
    add("--hpa-scale-to-zero", action="store_true", help="HPAs may have minReplicas 0, as on Kubernetes 1.37")
    add("-v", "--verbose", action="store_true", help="log each poll")
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; use a number from 0 to 65535")
    return int(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
