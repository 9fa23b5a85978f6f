"""How much is logged of an object that goes on failing."""

import logging

import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import Unavailable
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.operator.controller.troubles import REMEMBERED, log_recovery, log_trouble
from keda_py.operator.scaled_objects.state import ObjectState

log = logging.getLogger("keda_py.tests.trouble")


@pytest.fixture
def state() -> ObjectState:
    return ObjectState(resource=SCALED_OBJECTS, key=ObjectKey("ScaledObject", "shop", "web"), uid="1")


def told(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> int:
    return sum(record.levelno >= level for record in caplog.records)


def test_the_same_error_is_told_once_until_it_works_again(state: ObjectState, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(100):
        log_trouble(log, state, "request failed", Unavailable("no answer"))
    assert told(caplog) == 1
    log_recovery(log, state)
    log_recovery(log, state)
    assert told(caplog, logging.INFO) == 2
    log_trouble(log, state, "request failed", Unavailable("no answer"))
    assert told(caplog) == 2


def test_errors_that_never_say_the_same_twice_fill_no_log(state: ObjectState, caplog: pytest.LogCaptureFixture) -> None:
    for port in range(1000):
        log_trouble(log, state, "request failed", Unavailable(f"connection from port {port} was lost"))
    assert told(caplog) == REMEMBERED


def test_a_bug_is_an_error_with_its_traceback(state: ObjectState, caplog: pytest.LogCaptureFixture) -> None:
    log_trouble(log, state, "work failed", KeyError("spec"))
    assert [(record.levelno, record.exc_info is not None) for record in caplog.records] == [(logging.ERROR, True)]
