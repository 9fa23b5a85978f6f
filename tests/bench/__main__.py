"""`python -m tests.bench [NAME ...]`: run the benches, one JSON line each on standard output, progress beside it."""

import argparse
import asyncio
import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from keda_py.operator.process.loops import loop_factory
from tests.bench.lab.figures import machine
from tests.bench.lab.options import Bench, Options, Say

USUAL = ("decide", "reads", "start", "push", "serve", "burst", "neighbours", "environment", "reviews", "waker", "scale")
LONG = ("advise", "awake", "policy", "standby", "shards", "takeover", "quarantine", "growth", "soak")
BENCHES = (*USUAL, *LONG)
SHORT = Options(objects=100, steady=20.0, wakes=4, load=4.0, namespaces=50)
"""For `--short`."""


def main() -> int:
    """Run what is named, else the usual ones, the shortest first."""
    arguments = _parse()
    if arguments.list:
        sys.stdout.writelines(f"{_summary(name)}\n" for name in BENCHES)
        return 0
    _run(arguments.benches or USUAL, _options(arguments), Console(stderr=True))
    return 0


def load_bench(name: str) -> ModuleType:
    """A bench's module, imported when it is its turn."""
    return importlib.import_module(f"tests.bench.{name}")


def _run(names: Sequence[str], options: Options, console: Console) -> None:
    console.print(f"keda-py {version('keda-py')}, Python {sys.version.split()[0]}, {machine()}")
    columns = (SpinnerColumn(), TextColumn("{task.fields[bench]:12}{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for name in names:
            task = progress.add_task("", bench=name, total=None)

            def say(text: str, task: TaskID = task) -> None:
                progress.update(task, description=text)

            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(_write_rows(name, options, say))
            progress.update(task, description="done", total=1, completed=1)


async def _write_rows(name: str, options: Options, say: Say) -> None:
    run: Bench = load_bench(name).run
    async with aclosing(run(options, say)) as rows:
        async for row in rows:
            sys.stdout.write(json.dumps({"bench": name, **row}) + "\n")
            sys.stdout.flush()


def _summary(name: str) -> str:
    return (load_bench(name).__doc__ or "").partition("\n")[0]


def _options(arguments: argparse.Namespace) -> Options:
    """What is given wins over `--short`."""
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    chosen = {one.name: given[one.name] for one in fields(Options) if one.name in given}
    return replace(SHORT if arguments.short else Options(), **chosen)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("benches", nargs="*", metavar="NAME", help=f"{', '.join(BENCHES)} [{', '.join(USUAL)}]")
    parser.add_argument("--list", action="store_true", help="say what each measures")
    parser.add_argument("--short", action="store_true", help="fewer objects and shorter phases: some minutes in all")
    parser.add_argument("--objects", type=int, help="ScaledObjects [500]")
    parser.add_argument("--interval", type=int, help="pollingInterval in seconds [15]")
    parser.add_argument("--steady", type=float, help="seconds of idleness measured [60]")
    parser.add_argument("--wakes", type=int, help="objects that are woken [20]")
    parser.add_argument("--load", type=float, help="seconds of questions a row of `serve` [10]")
    parser.add_argument("--sizes", type=_sizes, help="numbers of objects for `growth` [500,2000,5000,10000]")
    parser.add_argument("--minutes", type=float, help="length of `soak` [30]")
    parser.add_argument("--kubeconfig", type=Path, help="a cluster with our CRDs and no operator [the embedded one]")
    parser.add_argument("--members", type=int, help="Deployments of the Environment of `environment` [200]")
    parser.add_argument("--namespaces", type=int, help="namespaces of the ClusterEnvironment of `policy` [500]")
    parser.add_argument("--replicas", type=int, help="active operators of `shards` [3]")
    parser.add_argument("--cycles", type=int, help="`waker`: sleep and wake so often under load, and nothing else [0]")
    parser.add_argument("--running", action="store_true", default=None, help="`environment`: the operator runs there")
    parser.add_argument("--imitate-kubelet", action="store_true", default=None, help="`environment`: no node runs pods")
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write flame graphs of the operator (py-spy)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="where charts go [here]")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.benches) - set(BENCHES)):
        parser.error(f"no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    return arguments


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(part) for part in text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
