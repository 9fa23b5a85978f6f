"""What tenants and files write, on its way to a terminal, a page or a program: every output of the command line."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rich.text import Text

from keda_py.cli import main
from keda_py.clock import FakeClock
from keda_py.core.hpa.rescale_note import REASON
from keda_py.core.values.times import write_time
from keda_py.dashboard.server import Dashboard
from keda_py.explanation.evidence import EVENTS as CORE_EVENTS
from keda_py.kube.resources import ENVIRONMENTS, SCALED_OBJECTS
from keda_py.terminal.foreign import json_of, printable
from keda_py.terminal.table import Column, draw_table
from tests.builders import GROUP, cron, deployment, environment, metrics_api, obj, scaled_object
from tests.environments.builders import NOW
from tests.http_server import http_server
from tests.preview.builders import app, dev
from tests.programs.client import run
from tests.simulation.worked import on_queue
from tests.worlds.world import World, open_world

OBEYED = "\x07\x1b[2J\x7f\x85\x9b31m\u200f\u202e\u2028\u2029\u2066\ufeff\U000e0001"
"""C0, DEL, C1, bidirectional, separators of lines and paragraphs, invisible."""
ESCAPED = r"\u0007\u001b[2J\u007f\u0085\u009b31m\u200f\u202e\u2028\u2029\u2066\ufeff\udb40\udc01"


def assert_harmless(told: str) -> None:
    lines = told.split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert any(r"\u202e" in line for line in lines), "the text is left out, so that this test shows nothing"


def test_what_is_obeyed_is_written_as_an_escape_and_all_else_stays() -> None:
    assert printable(OBEYED) == ESCAPED
    assert printable("Büro\u3000東京 🙂\tnow\r\n") == "Büro\u3000東京 🙂 now\n"
    assert printable(ESCAPED) == ESCAPED


def test_json_is_the_same_for_a_program() -> None:
    body = {OBEYED: [OBEYED, {"n": 1, "none": None}]}
    for indent in (True, False):
        told = json_of(body, indent=indent)
        assert_harmless(told)
        assert json.loads(told) == body


def test_columns_stand_below_each_other_though_an_escape_is_wider_than_its_character() -> None:
    columns = (Column(heading="a"), Column(heading="b"))
    _, _, *lines = draw_table(columns, [("x\u202e", "1"), (Text("y\u202e\u202e"), "2")], 80).plain.splitlines()
    assert lines == [r"x\u202e        1", r"y\u202e\u202e  2"]


@pytest.mark.parametrize(
    "words",
    [
        *(["validate", *rest, "FILES"] for rest in ([], ["-o", "json"])),
        *(["migrate", "check", *rest, "FILES"] for rest in ([], ["-o", "json"])),
        *(["preview", "--from", "2026-11-23", "-o", output, "FILES"] for output in ("table", "json", "svg")),
        *(
            ["simulate", "--processes=1", *rest, "APP"]
            for rest in ([], *(["-o", one] for one in ("json", "csv", "html")))
        ),
        *(["check-trigger", "TRIGGER", *rest] for rest in ([], ["-o", "json"])),
    ],
    ids=" ".join,
)
def test_what_a_file_says_is_obeyed_by_no_terminal(
    words: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    late = obj(GROUP, "Override", "late", "shop", spec={"state": "Awake", "for": "2h", "reason": OBEYED})
    odd = app(cron())
    odd["metadata"]["name"] = f"web{OBEYED}"
    files, queue, trigger = tmp_path / "files", tmp_path / "app.yaml", tmp_path / "trigger.yaml"
    files.mkdir()
    (files / "all.yaml").write_text(yaml.safe_dump_all([odd, dev(), late]))
    named = on_queue()
    named["metadata"]["name"] = f"web{OBEYED}"
    queue.write_text(yaml.safe_dump(named))
    kind = {
        "type": "metrics-api",
        "metadata": {"url": "http://127.0.0.1:1/", "valueLocation": OBEYED, "targetValue": OBEYED},
    }
    trigger.write_text(yaml.safe_dump(scaled_object(kind)))
    (tmp_path / "trace.csv").write_text("time,queue\n2026-11-02T00:00:00Z,0\n2026-11-02T00:50:00Z,12\n")
    places = {"FILES": str(files), "APP": str(queue), "TRIGGER": str(trigger)}
    if words[0] == "simulate":
        words = [*words, "--metrics", str(tmp_path / "trace.csv")]
    main([places.get(word, word) for word in words])
    told = capsysbinary.readouterr()
    assert_harmless((told.out + told.err).decode())


def accounted() -> dict[str, Any]:
    month = {"name": f"{NOW:%Y-%m}", "seconds": 9, "replicaSeconds": 9, "savedSeconds": 9}
    return {"at": write_time(NOW), "replicas": 0, "instead": 1, "month": month}


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    """No operator; an Environment and a ScaledObject whose statuses a tenant wrote."""
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        await world.create(environment(), scaled_object(cron()))
        told = {"phase": "Awake", "because": OBEYED, "ready": OBEYED}
        told |= {"savings": {f"Deployment/{OBEYED}": accounted()}}
        told |= {"conditions": [{"type": "Ready", "status": "False", "reason": "Odd", "message": OBEYED}]}
        await world.client.patch(ENVIRONMENTS.named("default", "dev", "status"), {"status": told})
        history = [{"time": "2026-11-20T17:00:00Z", "reason": OBEYED, "from": 0, "to": 1}]
        told = {"conditions": told["conditions"], "kedaPy": {"history": history}}
        await world.client.patch(SCALED_OBJECTS.named("default", "app", "status"), {"status": told})
        yield world


@pytest.mark.parametrize(
    "words",
    [
        *(["env", *rest] for rest in ([], ["dev"], ["-o", "json"], ["dev", "-o", "json"])),
        *(["explain", *rest] for rest in ([], ["-o", "json"], ["env/dev"], ["env/dev", "-o", "json"])),
        *(["savings", "--month", f"{NOW:%Y-%m}", *rest] for rest in ([], ["-o", "json"])),
    ],
    ids=" ".join,
)
async def test_what_a_status_says_is_obeyed_by_no_terminal(words: list[str], world: World) -> None:
    assert_harmless(await told_by(*words, "--kubeconfig", str(world.kubeconfig)))


async def told_by(*words: str) -> str:
    done = await asyncio.to_thread(run, words)
    return done.stdout + done.stderr


@pytest.mark.parametrize("output", [[], ["-o", "json"], ["--since", "1h"]], ids=" ".join)
async def test_a_page_of_one_object_obeys_neither_its_source_nor_its_hpa(output: list[str], tmp_path: Path) -> None:
    """What the source lacks stands in an error, and what the HPA's Events say in the changes."""
    async with http_server() as server, open_world(tmp_path, server) as world:
        await world.operator.start()
        await world.create(deployment(), scaled_object(metrics_api(world.url, location=OBEYED)))
        await world.seconds(40)
        about = {"kind": "HorizontalPodAutoscaler", "name": "keda-hpa-app", "namespace": "default"}
        note = {"reason": REASON, "message": f"New size: 3; reason: {OBEYED} above target", "involvedObject": about}
        time = write_time(world.clock.now())
        await world.client.create(CORE_EVENTS, obj("v1", "Event", "odd", "default", lastTimestamp=time, **note))
        assert_harmless(await told_by("explain", "app", *output, "--kubeconfig", str(world.kubeconfig)))


@pytest.mark.parametrize("output", [[], ["-o", "json"], ["-o", "trace", "--object", "shop/app"]], ids=" ".join)
async def test_what_a_shadow_answers_is_obeyed_by_no_terminal(output: list[str]) -> None:
    side = {"does": OBEYED, "why": OBEYED}
    about = {"kind": "ScaledObject", "namespace": "shop", "name": OBEYED}
    found = {**about, "matter": "replicas", "metric": OBEYED, "since": write_time(NOW), "ours": side, "theirs": side}
    report = {"since": write_time(NOW), "compared": 1, "holding": [found], "ended": []}
    report |= {"notCompared": [{**about, "why": OBEYED}]}
    async with http_server() as server:
        server.answers["/report"] = json.dumps(report)
        server.answers["/trace"] = f"time,{OBEYED}\n2026-11-20T12:00:00Z,1\n"
        address = server.url.removeprefix("http://")
        assert_harmless(await told_by("shadow", "report", *output, "--address", address))


async def test_what_a_status_says_is_obeyed_by_no_page(world: World) -> None:
    dashboard = Dashboard(world.client, "", world.clock)
    async with dashboard.running(0) as address, httpx.AsyncClient() as browser:
        token = address.partition("#")[2].rpartition("=")[2]
        answer = await browser.get(f"{address.partition('#')[0]}api/state", headers={"X-Keda-Py-Token": token})
    assert_harmless("\n".join(texts_of(answer.raise_for_status().json())))


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts_of(one)]
    return [text for one in value for text in texts_of(one)] if isinstance(value, list) else [str(value)]
