"""Counts: requests, calls of functions and bytes that an object costs: the same on a busy machine as on a quiet one.

`make counts` compares them with `counts.json`, and fails where one has grown by more than a twentieth. Where that is meant,
or a figure has fallen, `python -m tests.bench.counts --write` keeps the new ones. Time is virtual, and all is one process: the
operator, its source, and the embedded cluster, of which nothing is counted.
"""

import argparse
import asyncio
import gc
import json
import logging
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from prometheus_client.parser import text_string_to_metric_families

from keda_py.operator.admission.webhook.reviews import read_review
from tests.bench.lab.figures import Row
from tests.bench.lab.options import Options, Say
from tests.builders import deployment, metrics_api, scaled_object
from tests.http_server import http_server
from tests.operator.admission.webhook.reviews import CRON, PATH, a_reviewer, review, written
from tests.patient import PatientLoop
from tests.places import ROOT
from tests.worlds.world import World, open_world

KNOWN = Path(__file__).with_suffix(".json")
GROWTH, FLEETING = 1.05, 0.3
"""By how much a figure may grow: a twentieth; of one that is small, as much as a fluctuation of the order of events."""
OBJECTS, POLLS, POLL_SECONDS = 40, 10, 10
WARM = range(OBJECTS)
"""Objects that are there before: the first ones fill caches."""
PACKAGE = f"{ROOT / 'keda_py'}/"
NOT_COUNTED = tuple(f"{PACKAGE}{name}" for name in ("localkube/", "schema/", "clock.py"))
"""The embedded cluster, schemas that it validates by, and the clock of tests."""
COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})
"""No calls from Python 3.12 on."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One row."""
    say(f"{OBJECTS} objects, and {POLLS} polls of each")
    yield await measure()


async def measure() -> dict[str, float]:
    """By name; each is of one object, or of one poll of one."""
    async with _world() as world:
        await _add(world, WARM)
        before, sent = _requests(world), world.operator.cable.sent
        with _counted() as calls:
            await _add(world, range(OBJECTS, 2 * OBJECTS))
        sent = world.operator.cable.sent - sent
        made = {f"requests: {name}": count / OBJECTS for name, count in (_requests(world) - before).items()}
        before = _requests(world)
        with _counted() as polling:
            await world.seconds(POLLS * POLL_SECONDS)
        polled = 2 * OBJECTS * POLLS
        idle = sum((_requests(world) - before).values())
    async with _world() as world:
        kept = await _kept(world)
    figures = {
        **made,
        "calls until an object is Ready": sum(calls.values()) / OBJECTS,
        "bytes sent to the API server for an object": sent / OBJECTS,
        "calls a review": await _reviews(),
        "calls a poll": sum(polling.values()) / polled,
        "requests while all are polled": idle,
        "bytes kept of an object": kept / OBJECTS,
    }
    return {name: round(figure, 2) for name, figure in sorted(figures.items())}


async def _reviews() -> float:
    """Of a new object with ten triggers, judged by the webhook."""
    request = read_review(review(written(triggers=[CRON] * 10)))
    async with a_reviewer() as reviewer:
        await reviewer.review(PATH, request)
        with _counted() as calls:
            await reviewer.review(PATH, request)
    return sum(calls.values())


@asynccontextmanager
async def _world() -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        async with http_server() as server, open_world(Path(folder), server) as world:
            await world.operator.start()
            yield world


async def _add(world: World, numbers: range) -> None:
    """Objects that sleep, until their HPAs have given a verdict."""
    for number in numbers:
        name = f"app-{number}"
        wanted = scaled_object(
            metrics_api(world.url), name=name, scaleTargetRef={"name": name}, pollingInterval=POLL_SECONDS
        )
        await world.apply(deployment(name, 0), wanted)
    await world.seconds(2 * POLL_SECONDS)


def _requests(world: World) -> Counter[str]:
    """Requests that the API server has answered, watches left out."""
    counted: Counter[str] = Counter()
    page = world.cluster.routes.metrics.answer().body.decode()
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name == "apiserver_request_total" and sample.labels["verb"] != "WATCH":
                place = "/".join(filter(None, (sample.labels["resource"], sample.labels["subresource"])))
                counted[f"{sample.labels['verb']} {place}"] += round(sample.value)
    return counted


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Calls of our own functions, by file; while nothing is collected, as that calls what is garbage."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and _is_ours(code.co_filename) and code.co_name not in COMPREHENSIONS:
            calls[code.co_filename] += 1

    gc.disable()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        gc.enable()


def _is_ours(file: str) -> bool:
    return file.startswith(PACKAGE) and not file.startswith(NOT_COUNTED)


async def _kept(world: World) -> int:
    """Bytes that our functions, and what these call in libraries, have made and still hold for so many more objects."""
    await _add(world, WARM)
    gc.collect()
    tracemalloc.start(12)
    try:
        await _add(world, range(OBJECTS, 2 * OBJECTS))
        gc.collect()
        traces = tracemalloc.take_snapshot().traces
    finally:
        tracemalloc.stop()
    return sum(trace.size for trace in traces if _is_made_by_us([frame.filename for frame in trace.traceback]))


def _is_made_by_us(files: list[str]) -> bool:
    """Judge by the last function of the package that is on the way to it."""
    last = next((file for file in reversed(files) if file.startswith(PACKAGE)), "")
    return _is_ours(last)


def regressions(known: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """A sentence for each figure that has grown by more than it may, or that is new."""
    return [
        f"{name}: {figure:g}, and {known.get(name, 0):g} before"
        for name, figure in found.items()
        if figure > max(known.get(name, 0) * GROWTH, known.get(name, 0) + FLEETING)
    ]


def main() -> int:
    """Exit with 1 where a figure has grown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.counts", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {KNOWN.name}")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # counting takes long: the loop is blocked, and watches end
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        found = runner.run(measure())
    sys.stdout.write(json.dumps(found, indent=4) + "\n")
    if given.write:
        KNOWN.write_text(json.dumps(found, indent=4) + "\n", encoding="utf-8")
        return 0
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    worse = regressions(known, found)
    sys.stderr.writelines(f"grown: {line}\n" for line in worse)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
