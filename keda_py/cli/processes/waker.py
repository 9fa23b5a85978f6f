"""`keda-py waker`: settings, logs, event loop; then `waker/app.py` takes over."""

import asyncio
import importlib
import os

from keda_py.cli.flags import FlagPage, read_flags
from keda_py.cli.operator import configure_logs, warn_of_ignored
from keda_py.operator.process.loops import loop_factory
from keda_py.operator.process.memory import allocate_sparingly
from keda_py.settings.waker import WAKER_GROUPS, load_waker_settings

DESCRIPTION = (
    "Hold requests to Services that sleep, ask the operator for their wake, and pass them on once pods answer. Runs "
    "beside `keda-py operator --waker-service`, which leads Services here before it puts them to sleep, and away again "
    "once they are awake. SIGTERM ends it within --shutdown-delay plus --drain-period."
)
EXAMPLES = (
    ("keda-py waker", "in a cluster, as the chart's waker.enabled runs it"),
    ("keda-py waker --kubeconfig ./kubeconfig --operator-url https://127.0.0.1:6443 --operator-ca-file ca.crt",
     "outside of it, for a try"),
)  # fmt: skip
PAGE = FlagPage(command="waker", groups=WAKER_GROUPS, description=DESCRIPTION, examples=EXAMPLES)


def run(arguments: list[str]) -> int:
    """Run until SIGTERM or SIGINT."""
    given = read_flags(arguments, PAGE)
    settings = load_waker_settings(given.values, os.environ)
    configure_logs(settings.logs)
    warn_of_ignored(given.ignored)
    allocate_sparingly()
    app = importlib.import_module("keda_py.waker.app")  # heavy: not before the flags are known to be right
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(app.run(settings))
    return 0
