"""What every test, and every process that a test starts, finds around it; and which generated input hypothesis tries."""

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.file_order import places
from tests.patient import PatientLoop, TidyLoop
from tests.programs.client import begin_session, end_session, wait_for_session
from tests.properties import EXAMPLES, EXPLORED

TESTS = Path(__file__).parent

pytest_plugins = ["tests.forks"]

# Reading the hundred and more authorities of a machine costs each operator 80 ms of CPU, and no test meets a server
# that one of them vouches for: tests trust what they say, and one authority that has signed nothing. It has to be said
# before aiohttp is imported, which reads them then.
os.environ["SSL_CERT_FILE"] = str(TESTS / "authority.pem")
os.environ["SSL_CERT_DIR"] = str(TESTS / "no such folder")

# Servers and Helm, which are written in Go, would look for garbage whenever their few megabytes have doubled: a quarter
# of Helm's CPU.
os.environ.setdefault("GOGC", "400")

# Six thousand collected tests are garbage never, and looking through them again and again costs a tenth of all CPU.
gc.disable()

GARBAGE = (100_000, 10, 4)
"""Objects before the youngest are looked through within a test, instead of Python's 700; and looks before older ones
are: a world is twenty thousand objects that stay until its test ends, and nearly all else ends without the collector."""
LEFT = 5_000
"""Objects that tests have left, before they are looked through between two tests: then nearly all of them are garbage."""

# The same cases on every machine, at every run: a red test is red for everybody. The counts are in `properties.py`.
settings.register_profile("suite", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
# `make fuzz`: other cases each time, ten times as many. What it finds becomes a plain test.
settings.register_profile("fuzz", max_examples=EXPLORED, database=None, deadline=None, print_blob=True)
settings.load_profile("suite")
# What hypothesis tries is made of the numbers and texts of our modules, too, of those that are imported by then: other
# cases in each run, and three seconds of reading code. There is no setting for it.
providers._get_local_constants = Constants


def pytest_sessionstart(session: pytest.Session) -> None:
    """While the tests are collected, the programs that they will start are imported."""
    if session.config.getoption("forks") and not session.config.option.collectonly:
        begin_session()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mix files that wait with files that compute."""
    order = places([item.path for item in items], TESTS)
    items.sort(key=lambda item: order[item.path])


def pytest_collection_finish() -> None:
    """From here on look for garbage, but not among what is there already: forked processes share it."""
    wait_for_session()
    charmap.charmap()  # hypothesis makes or reads its table of characters in each process that has none
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


def pytest_unconfigure() -> None:
    end_session()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Let go of the servers of this test.

    aiohttp remembers the last thousand requests' handlers with their applications, and with these whole clusters and
    operators: half a gigabyte a process, and a sixth of all CPU went to looking through it for garbage.
    """
    if (web_app := sys.modules.get("aiohttp.web_app")) is not None:
        web_app._cached_build_middleware.cache_clear()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """End the garbage of this test, which nothing refers to any more."""
    if gc.get_count()[0] > LEFT:
        gc.collect(1)


REAL_TIME = (
    TESTS / "e2e",
    TESTS / "hostile",
    TESTS / "operator" / "standby" / "test_fail_over.py",
    TESTS / "operator" / "process" / "test_watchdog.py",
    TESTS / "operator" / "admission" / "webhook" / "test_process.py",
)
"""Where other processes set the pace, or the loop's own delays are the subject."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of each test."""
    if any(item.path.is_relative_to(place) for place in REAL_TIME):
        return {"real": TidyLoop}
    return {"patient": PatientLoop}
