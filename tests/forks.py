"""Tests in several processes, forked from the one that has collected them: `--forks 8`.

Imports and collection take seconds of CPU and 300 MB, and are the same for every process: forked children have them at
once, and share the memory that they do not write to. The parent gives each child one test after the other, of groups
that stay in one child (`file_order.py`), and passes its reports on to pytest, so that the output, `-x` and the exit
status are as ever. A child that ends before its test fails that test, and another child goes on behind it.

Fixtures of a session live once in each child, and end with it.
"""

import ctypes
import gc
import os
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Never

import pytest
from _pytest.unraisableexception import collect_unraisable

from tests.file_order import group

MOST_GROUPS = 40
"""A process grows by 5 MB with each file, and so does what the garbage collector looks through; then another is begun."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forks", type=int, default=0, metavar="N", help="run the tests in N processes, forked from this one"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count, option = session.config.getoption("forks"), session.config.option
    if not count or option.collectonly or option.usepdb or session.testsfailed:
        return None  # pytest's own loop
    if len(threads := threading.enumerate()) > 1:
        raise pytest.UsageError(f"--forks: these threads run before the first test: {threads[1:]}. Start them in tests")
    Forks(session).run(count)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


@dataclass
class Outcome:
    """What a child sends after each test: reports, warnings, and why all tests should stop."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    stop: str = ""


@dataclass
class Fork:
    """What the parent knows of a child: the test that it runs or has run last, and the places of those behind it."""

    pid: int
    item: pytest.Item | None = None
    places: deque[int] = field(default_factory=deque)
    groups: int = 0
    dismissed: bool = False


class Forks:
    """The parent's side: it runs no test."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._config = session, session.config
        self._groups = deque(_groups(session.items))
        self._forks: dict[Connection, Fork] = {}
        self._begun = 0
        self._folder = self._config._tmp_path_factory.getbasetemp()
        self._config.pluginmanager.get_plugin("terminalreporter").showfspath = False  # files take turns

    def run(self, count: int) -> None:
        """Run all tests, or fewer if the session should stop."""
        try:
            for _ in range(min(count, len(self._groups))):
                self._fork()
            while self._forks:
                for link in wait(list(self._forks)):
                    self._hear(link)
        finally:
            for link in self._forks:
                link.close()
            for fork in self._forks.values():
                os.waitpid(fork.pid, 0)

    def _fork(self) -> None:
        self._begun += 1
        # Processes share the position in a file that was open at the fork: each child captures into its own.
        self._config.pluginmanager.get_plugin("capturemanager").stop_global_capturing()
        sys.stdout.flush()
        sys.stderr.flush()
        ours, theirs = Pipe()
        if pid := os.fork():
            theirs.close()
            self._forks[ours] = Fork(pid)
            return
        for link in (*self._forks, ours):
            link.close()  # a link ends with the parent only if no child holds the parent's side
        folder = self._config._tmp_path_factory._basetemp = self._folder / f"fork{self._begun}"
        folder.mkdir(mode=0o700)
        _work(self._session, theirs)

    def _hear(self, link: Connection) -> None:
        fork = self._forks[link]
        outcome = _received(link)
        if outcome is None:
            self._bury(link)
            return
        if outcome.stop:
            self._session.shouldstop, fork.dismissed = outcome.stop, True
        self._tell(fork, outcome)
        if not fork.dismissed:
            link.send(self._next(fork))

    def _stops(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _next(self, fork: Fork) -> tuple[int, int | None] | None:
        """The places of a child's next test and of the one behind it in the same group."""
        if not fork.places and self._groups and fork.groups < MOST_GROUPS:
            fork.places = self._groups.popleft()
            fork.groups += 1
        if not fork.places or self._stops():
            fork.dismissed = True
            return None
        place = fork.places.popleft()
        fork.item = self._session.items[place]
        return place, fork.places[0] if fork.places else None

    def _tell(self, fork: Fork, outcome: Outcome) -> None:
        hook = self._config.hook
        for told in outcome.warnings:
            hook.pytest_warning_recorded.call_historic(kwargs=told)
        for data in outcome.reports:
            report = hook.pytest_report_from_serializable(config=self._config, data=data)
            hook.pytest_runtest_logreport(report=report)
        if outcome.reports and fork.item:
            hook.pytest_runtest_logfinish(nodeid=fork.item.nodeid, location=fork.item.location)

    def _bury(self, link: Connection) -> None:
        fork = self._forks.pop(link)
        link.close()
        code = os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1])
        if code != 0 or not fork.dismissed:
            self._report_end(fork, f"signal {-code}" if code < 0 else f"status {code}")
        if fork.places:
            self._groups.appendleft(fork.places)
        if self._groups and not self._stops():
            self._fork()

    def _report_end(self, fork: Fork, how: str) -> None:
        if fork.item is None:
            self._session.shouldstop = f"a process ended with {how} before its first test"
        else:
            when = "teardown" if fork.dismissed else "call"  # a dismissed child ends the fixtures of its session
            text, item = f"the process of this test ended with {how}", fork.item
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, when)
            self._config.hook.pytest_runtest_logreport(report=report)


def _received(link: Connection) -> Outcome | None:
    """Return None once the child has ended. A child is never forked where that is handled: all errors of its tests would
    have the end of another child as their context.
    """
    try:
        outcome: Outcome = link.recv()
    except (EOFError, OSError):
        return None
    return outcome


def _groups(items: Iterable[pytest.Item]) -> Iterable[deque[int]]:
    groups: dict[str, deque[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(group(item.nodeid), deque()).append(place)
    return groups.values()


class Outbox:
    """The child's reporter: what pytest would print goes to the parent."""

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config, self._link, self._outcome = config, link, Outcome()
        self._tw = config.get_terminal_writer()  # pytest asks its reporter for it, to know about colours

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._outcome.reports.append(data)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        told = {"warning_message": _portable(warning_message), "when": when, "nodeid": nodeid, "location": location}
        self._outcome.warnings.append(told)

    def send(self, stop: str = "") -> None:
        self._outcome.stop = stop
        self._link.send(self._outcome)
        self._outcome = Outcome()


def _work(session: pytest.Session, link: Connection) -> Never:
    """The child's side. It leaves by `_exit`, since all that is on the stack belongs to the parent."""
    code, plugins = 1, session.config.pluginmanager
    os.register_at_fork(after_in_child=link.close)  # a test's own child that outlives this one would keep it open
    try:
        outbox = Outbox(session.config, link)
        plugins.unregister(name="terminalreporter")
        plugins.register(outbox, "terminalreporter")
        capture = plugins.get_plugin("capturemanager")
        capture.start_global_capturing()
        capture.suspend_global_capture()
        _run(session, link, outbox)
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(session: pytest.Session, link: Connection, outbox: Outbox) -> None:
    item, stop = None, ""
    try:
        outbox.send()
        while places := link.recv():
            item, following = session.items[places[0]], places[1]
            # Behind the last test of a group only the fixtures of the session stay.
            behind = session if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=behind)
            if following is None:
                _give_back_memory()
            outbox.send()
    except BaseException:  # noqa: BLE001 - what ends pytest in one process ends it in all
        stop = traceback.format_exc()
    if item is not None:
        call = pytest.CallInfo.from_call(lambda: _end(session), when="teardown")
        report = item.ihook.pytest_runtest_makereport(item=item, call=call)
        if report.failed:
            outbox.pytest_runtest_logreport(report)
    outbox.send(stop)


def _give_back_memory() -> None:
    """Return freed memory to the machine: after a test of a large world glibc would keep up to 60 MB of it."""
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def _end(session: pytest.Session) -> None:
    """End the fixtures of the session, and look for what they and the tests have left open."""
    session.config.pluginmanager.get_plugin("capturemanager").resume_global_capture()
    session._setupstate.teardown_exact(None)
    gc.collect()
    collect_unraisable(session.config)


def _portable(recorded: warnings.WarningMessage) -> warnings.WarningMessage:
    """Return a warning with the same words; its own class may be one that cannot be sent."""
    text = f"{recorded.category.__name__}: {recorded.message}"
    return warnings.WarningMessage(text, Warning, recorded.filename, recorded.lineno)
