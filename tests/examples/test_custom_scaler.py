"""custom-scaler: a trigger type from a package of its own, installed beside keda-py."""

import asyncio
import os
import re  # noqa: TID251 - a constant pattern over our own README
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from aiohttp import web
from hatchling.builders.wheel import WheelBuilder

from tests.examples.pages import EXAMPLES, readme, sessions
from tests.http_server import http_server
from tests.programs import client

FOLDER = EXAMPLES / "custom-scaler"
SECONDS = re.compile(r"\d\.\d\d s")


async def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of keda-py, with what is installed into that folder."""
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{EXAMPLES.parent}"}
    return await asyncio.to_thread(client.run, arguments, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed, with nothing else: a wheel of Python alone is unpacked, as pip does."""
    folder = tmp_path_factory.mktemp("site")
    (wheel,) = WheelBuilder(str(FOLDER)).build(directory=str(tmp_path_factory.mktemp("wheel")))
    with ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


async def test_a_scaler_of_its_own_package_is_found_and_reads(site: Path, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        allowed = request.headers.get("Authorization") == "Bearer opensesame"
        return web.json_response({"waiting": 12}) if allowed else web.Response(status=401)

    async with http_server() as server:
        server.answers["/queues/jobs"] = answer
        manifest = tmp_path / "scaled-object.yaml"
        text = (FOLDER / "scaled-object.yaml").read_text(encoding="utf-8")
        manifest.write_text(text.replace("http://acme.shop:8080", server.url))
        done = await run(site, "check-trigger", str(manifest))
    ((shown,),) = sessions(readme(FOLDER))
    assert SECONDS.sub("", done.stdout.rstrip()) == SECONDS.sub("", shown.answer), done.stderr


async def test_its_keys_are_told_and_its_manifests_judged_like_those_of_any_type(site: Path) -> None:
    told = await run(site, "scalers", "acme-queue")
    assert "Name of the queue." in told.stdout
    judged = await run(site, "validate", str(FOLDER / "scaled-object.yaml"))
    assert judged.returncode == 0, judged.stdout


async def test_the_test_of_the_example_passes_and_fails_with_its_scaler(site: Path, tmp_path: Path) -> None:
    test = (FOLDER / "test_acme_queue.py").read_text(encoding="utf-8")
    assert len(test.splitlines()) <= 15
    (tmp_path / "test_good.py").write_text(test)
    (tmp_path / "test_bad.py").write_text(test.replace("== 12", "== 13"))
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{EXAMPLES.parent}"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    done = await asyncio.to_thread(client.run, [], program=command, env=environment)
    assert "1 failed, 1 passed" in done.stdout, done.stdout


async def test_a_server_that_is_down_is_told_as_by_a_built_in_type(site: Path, tmp_path: Path) -> None:
    async with http_server() as server:
        down = server.url
    manifest = tmp_path / "scaled-object.yaml"
    text = (FOLDER / "scaled-object.yaml").read_text(encoding="utf-8")
    manifest.write_text(text.replace("http://acme.shop:8080", down))
    done = await run(site, "check-trigger", str(manifest))
    assert f'error   Get "{down}/queues/jobs": Connection refused' in done.stdout
