"""`python -m tests.bench [NAME ...]`: run the benches, one JSON line each on standard output, progress beside it."""

import argparse
import asyncio
import importlib
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from types import ModuleType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from keda_py.cli.operator import loop_factory
from tests.bench.figures import machine
from tests.bench.options import Options

BENCHES = ("decide", "start", "push", "serve", "burst", "scale", "shards")


def main() -> int:
    """Run what is named, else all, the shortest first."""
    arguments = _parse()
    if arguments.list:
        sys.stdout.writelines(f"{_summary(name)}\n" for name in BENCHES)
        return 0
    options = Options(objects=arguments.objects, interval=arguments.interval, steady=arguments.steady)
    _run(arguments.benches or BENCHES, options, Console(stderr=True))
    return 0


def load_bench(name: str) -> ModuleType:
    """A bench's module, imported when it is its turn."""
    return importlib.import_module(f"tests.bench.{name}")


def _run(names: Sequence[str], options: Options, console: Console) -> None:
    console.print(f"keda-py {version('keda-py')}, Python {sys.version.split()[0]}, {machine()}")
    columns = (SpinnerColumn(), TextColumn("{task.fields[bench]:8}{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for name in names:
            task = progress.add_task("", bench=name, total=None)

            def say(text: str, task: TaskID = task) -> None:
                progress.update(task, description=text)

            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                row = runner.run(load_bench(name).run(options, say))
            progress.update(task, description="done", total=1, completed=1)
            sys.stdout.write(json.dumps({"bench": name, **row}) + "\n")
            sys.stdout.flush()


def _summary(name: str) -> str:
    return (load_bench(name).__doc__ or "").partition("\n")[0]


def _parse() -> argparse.Namespace:
    usual = Options()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("benches", nargs="*", metavar="NAME", help=f"{', '.join(BENCHES)} [all]")
    parser.add_argument("--list", action="store_true", help="say what each measures")
    parser.add_argument("--objects", type=int, default=usual.objects, help="ScaledObjects [500]")
    parser.add_argument("--interval", type=int, default=usual.interval, help="pollingInterval in seconds [15]")
    parser.add_argument("--steady", type=float, default=usual.steady, help="seconds of idleness measured [60]")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.benches) - set(BENCHES)):
        parser.error(f"no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
