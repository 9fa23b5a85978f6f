"""`keda-py operator`: settings, logs, event loop; then `operator/app.py` takes over."""

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Mapping

from keda_py import logs
from keda_py.cli.flags import FlagPage, read_flags
from keda_py.operator.process.loops import loop_factory
from keda_py.operator.process.memory import leave_out_unused
from keda_py.settings.process import LogSettings
from keda_py.settings.settings import GROUPS, load_settings

DESCRIPTION = (
    "Scale a cluster: operator, external metrics server and admission webhook in one process. Flags and environment "
    "variables are KEDA's; a flag wins over its variable. SIGTERM ends it within 5 s plus --shutdown-delay."
)
EXAMPLES = (
    ("keda-py operator --leader-elect --zap-encoder=json", "in a cluster, as one of several replicas"),
    ("keda-py operator --kubeconfig ~/.kube/config --watch-namespace develop,release", "two namespaces, from outside"),
    ("keda-py operator --shadow --kubeconfig ~/.kube/config", "beside KEDA: only tell what would be different"),
    (
        "keda-py operator --kubeconfig ./kubeconfig --bind-address 192.0.2.7 --register https://192.0.2.7:6443",
        "outside the cluster, reachable by its API server at that address",
    ),
)

PAGE = FlagPage(command="operator", groups=GROUPS, description=DESCRIPTION, examples=EXAMPLES)


def run(arguments: list[str]) -> int:
    """Run until SIGTERM or SIGINT."""
    given = read_flags(arguments, PAGE)
    settings = load_settings(given.values, os.environ)
    configure_logs(settings.logs)
    warn_of_ignored(given.ignored)
    leave_out_unused()
    # heavy: not before the flags are known to be right
    module = "keda_py.operator.shadow.app" if settings.shadow.enabled else "keda_py.operator.app"
    app = importlib.import_module(module)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(app.run(settings))
    return 0


def configure_logs(wanted: LogSettings) -> None:
    """Configure logs: console on a terminal and JSON elsewhere, from info on, unless --zap-* say otherwise."""
    console = wanted.devel or sys.stderr.isatty()
    encoder: logs.Encoder = "json" if wanted.encoder == "json" or (not wanted.encoder and not console) else "console"
    default_level = logging.DEBUG if wanted.devel else logging.INFO
    logs.configure(wanted.level or default_level, encoder, wanted.time_encoding)


def warn_of_ignored(ignored: Mapping[str, str]) -> None:
    """Log one warning for each flag of KEDA that means nothing here."""
    for flag, reason in ignored.items():
        logging.getLogger(__name__).warning("flag means nothing here", extra={"flag": f"--{flag}", "reason": reason})
