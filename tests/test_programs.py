"""Forked programs against fresh ones: what a caller sees of both is the same."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.places import ROOT
from tests.programs.client import FRESH, Program, begin_session, can_fork, end_session, fresh_programs, run, start
from tests.programs.loop import ForkingLoop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of the end of forked processes")

LOOK = """
import json, os, signal, sys
import keda_py.cli

def open_still(number):
    return os.path.exists(f"/proc/self/fd/{number}")  # not that by which the folder was read

json.dump({
    "argv": sys.argv, "cwd": os.getcwd(), "environment": dict(os.environ), "group": os.getpgrp(),
    "leads a session": os.getsid(0) == os.getpid(), "name": __name__,
    "descriptors": sorted(number for number in map(int, os.listdir("/proc/self/fd")) if open_still(number)),
    "signals": {name: str(signal.getsignal(getattr(signal, name))) for name in ("SIGINT", "SIGTERM", "SIGPIPE", "SIGCHLD")},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "terminal": os.isatty(1),
    "streams": [[one.encoding, one.errors, one.line_buffering] for one in (sys.stdin, sys.stdout, sys.stderr)],
}, sys.stdout)
sys.exit(int(sys.stdin.readline()))
"""
LOOKING = (sys.executable, "-I", "-B", "-X", "utf8", "-c", LOOK)

RUN = """
import os, signal, sys
from subprocess import PIPE
from tests.programs.client import begin_session, end_session, start
begin_session(packages=())
program = start(["local", "--no-operator", "--kubeconfig", sys.argv[1]], stdout=PIPE, stderr=sys.stderr)
program.stdout.readline()  # it is ready
"""
"""A run that starts a program, and ends in the line behind it."""


@pytest.fixture(autouse=True, scope="module")
def session() -> Iterator[None]:
    """That of the whole run, or one of this file's own."""
    begun = begin_session()
    yield
    if begun:
        end_session()


@pytest.mark.parametrize(
    "arguments",
    [["operater"], ["validate", "-"], ["env", "--kubeconfig", "/missing"], ["hold"]],
    ids=" ".join,
)
def test_exit_code_and_streams_are_those_of_a_fresh_process(arguments: list[str]) -> None:
    given = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: ü}\nspec: {}\n"
    fresh = subprocess.run([*FRESH, *arguments], input=given, capture_output=True, text=True, check=False)
    assert can_fork([*FRESH, *arguments])
    forked = run(arguments, given=given)
    assert (forked.returncode, forked.stdout, forked.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)
    assert fresh.stdout or fresh.stderr


@pytest.mark.parametrize("new_session", [False, True])
def test_what_a_process_is_given_at_its_start_is_what_a_fresh_one_is_given(new_session: bool, tmp_path: Path) -> None:
    def told(kind: type[Program] | type["subprocess.Popen[bytes]"]) -> tuple[int, dict[str, Any]]:
        ours, theirs = os.pipe()
        env = {"HOME": "/nowhere", "TZ": "Asia/Seoul", "LANG": "C.UTF-8"}
        options = {"env": env, "cwd": tmp_path, "pass_fds": [theirs], "start_new_session": new_session}
        process = kind(LOOKING, stdin=PIPE, stdout=PIPE, **options)
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as stdin, process.stdout as stdout:
            stdin.write(b"7\n")
            stdin.flush()
            seen = json.loads(stdout.read())
        for descriptor in (ours, theirs):
            os.close(descriptor)
        if new_session:
            assert seen.pop("group") == process.pid
        return process.wait(240), seen

    assert can_fork(LOOKING)
    assert told(Program) == told(subprocess.Popen)


def test_a_program_that_starts_with_other_variables_of_python_is_not_forked() -> None:
    command = [*FRESH, "version"]
    assert can_fork(command, os.environ)
    assert not can_fork(command, {**os.environ, "PYTHONHASHSEED": "7"})
    assert not can_fork(command, {**os.environ, "SSL_CERT_FILE": "/other"})
    assert not can_fork([sys.executable, "-X", "importtime", *FRESH[1:]])
    assert not can_fork([sys.executable, "-m", "mypy"])
    assert not can_fork(["kubectl", "version"])
    with fresh_programs():
        assert not can_fork(command)
    assert can_fork(command)


def test_environment_and_folder_are_those_given(tmp_path: Path) -> None:
    (tmp_path / "here.yaml").write_text("kind: [")
    told = run(["validate", "here.yaml"], cwd=tmp_path, env=os.environ)
    assert told.returncode == 1
    assert "here.yaml" in told.stdout
    missing = run(["env"], env={**os.environ, "KUBECONFIG": str(tmp_path / "missing")})
    assert str(tmp_path / "missing") in missing.stderr
    assert Path.cwd() != tmp_path


def test_each_command_is_a_process_of_its_own_that_obeys_signals(tmp_path: Path) -> None:
    running = [
        start(["local", "--no-operator", "--kubeconfig", str(tmp_path / name)], stdout=PIPE) for name in ("one", "two")
    ]
    for program in running:
        assert program.stdout is not None
        assert program.stdout.readline()  # it is ready
        program.stdout.close()
    first, second = running
    assert first.pid != second.pid
    assert first.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.01)
    first.kill()
    second.terminate()
    assert first.wait(240) == first.poll() == -signal.SIGKILL
    assert second.wait(240) == 0


def test_a_process_of_asyncio_is_forked_and_its_end_is_told() -> None:
    with asyncio.Runner(loop_factory=ForkingLoop) as runner:
        runner.run(_two_ends())


async def _two_ends() -> None:
    process = await asyncio.create_subprocess_exec(*LOOKING, stdin=PIPE, stdout=PIPE)
    out, _ = await process.communicate(b"7\n")
    assert (process.returncode, json.loads(out)["argv"]) == (7, ["-c"])
    waiting = await asyncio.create_subprocess_exec(*LOOKING, stdin=PIPE, stdout=PIPE)
    waiting.kill()
    assert await waiting.wait() == -signal.SIGKILL


def test_a_command_ends_with_its_caller(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    if not os.fork():
        program = start(["local", "--no-operator", "--kubeconfig", str(tmp_path / "kubeconfig")], stdout=theirs)
        os.close(theirs)
        os._exit(0 if os.read(ours, 4096) and program.poll() is None else 1)
    os.close(theirs)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    while os.read(ours, 4096):
        pass  # the end comes once the command has closed its output
    os.close(ours)


@pytest.mark.parametrize("end", ["end_session()", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_nothing_outlives_a_run_however_that_ends(end: str, tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    command = [sys.executable, "-c", RUN + end, str(tmp_path / "kubeconfig")]
    done = subprocess.run(command, stderr=theirs, cwd=ROOT, check=False)
    os.close(theirs)
    assert done.returncode == (0 if end == "end_session()" else -signal.SIGKILL)
    while os.read(ours, 4096):
        pass  # the program and the process that has forked it have closed it
    os.close(ours)
