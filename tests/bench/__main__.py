"""`python -m tests.bench [NAME ...]`: run the benches, one JSON line each on standard output, progress beside it."""

import argparse
import asyncio
import importlib
import json
import sys
from importlib.metadata import version

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.bench.figures import Row, machine
from tests.bench.options import Options

BENCHES = ("decide", "start", "serve", "scale")


def main() -> int:
    """Run what is named, else all, the shortest first."""
    arguments = _parse()
    console = Console(stderr=True)
    if arguments.list:
        for name in BENCHES:
            sys.stdout.write(f"{_module(name).__doc__.strip().splitlines()[0]}\n")
        return 0
    console.print(f"keda-py {version('keda-py')}, Python {sys.version.split()[0]}, {machine()}")
    columns = (SpinnerColumn(), TextColumn("{task.fields[bench]:8}{task.description}"), TimeElapsedColumn())
    options = Options(objects=arguments.objects, interval=arguments.interval, steady=arguments.steady)
    with Progress(*columns, console=console) as progress:
        for name in arguments.benches or BENCHES:
            task = progress.add_task("", bench=name, total=None)
            row = asyncio.run(
                _module(name).run(options, lambda text, task=task: progress.update(task, description=text))
            )
            progress.update(task, description="done", total=1, completed=1)
            _write(name, row)
    return 0


def _write(name: str, row: Row) -> None:
    sys.stdout.write(json.dumps({"bench": name, **row}) + "\n")
    sys.stdout.flush()


def _module(name: str):
    return importlib.import_module(f"tests.bench.{name}")


def _parse() -> argparse.Namespace:
    usual = Options()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("benches", nargs="*", metavar="NAME", choices=[*BENCHES, []], help=", ".join(BENCHES))
    parser.add_argument("--list", action="store_true", help="say what each measures")
    parser.add_argument("--objects", type=int, default=usual.objects, help="ScaledObjects [100]")
    parser.add_argument("--interval", type=int, default=usual.interval, help="pollingInterval in seconds [15]")
    parser.add_argument("--steady", type=float, default=usual.steady, help="seconds of idleness measured [60]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
