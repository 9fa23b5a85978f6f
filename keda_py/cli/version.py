"""`keda-py version`: ours, KEDA's that we follow, Python's and the libraries that matter in a bug report."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from keda_py import __version__
from keda_py.cli.parsers import command_parser

KEDA_VERSION = "2.21"
LIBRARIES = ("kubernetes-asyncio", "aiohttp", "pydantic", "croniter", "uvloop")


def run(arguments: list[str]) -> int:
    """Print a line for each component."""
    command_parser("version", "Print versions, for a bug report.").parse_args(arguments)
    rows = [("keda-py", __version__), ("follows KEDA", KEDA_VERSION), ("python", platform.python_version())]
    rows += [(name, _installed(name)) for name in LIBRARIES]
    sys.stdout.write("".join(f"{name:20}{text}\n" for name, text in rows))
    return 0


def _installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
