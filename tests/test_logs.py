import io
import json
import logging
from collections.abc import Iterator

import pytest
import re2
from pydantic import SecretStr

from keda_py import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def root_logger_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("keda_py")
    handlers, level, own_level = root.handlers[:], root.level, ours.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(own_level)


def lines(encoder: logs.Encoder, level: int = logging.INFO, time_encoding: str = "rfc3339") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level, encoder, time_encoding, stream)
    return stream


log = logging.getLogger("keda_py.operator.scaled_objects.look")


def test_a_json_line_has_the_keys_of_zap_and_the_extras() -> None:
    stream = lines("json")
    log.info("scale target activated", extra={"scaledobject": "web", "replicas": 1, "values": {"s0-x": 2.5}})
    line = json.loads(stream.getvalue())
    assert re2.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line.pop("ts"))
    assert line == {
        "level": "info",
        "logger": "keda_py.operator.scaled_objects.look",
        "msg": "scale target activated",
        "scaledobject": "web",
        "replicas": 1,
        "values": {"s0-x": 2.5},
    }


def test_a_console_line_is_readable_and_has_no_colour_in_a_file() -> None:
    stream = lines("console")
    log.warning("metric source failed", extra={"trigger": "s0-prometheus"})
    _, level, name, message, extras = stream.getvalue().rstrip("\n").split("\t")
    assert (level, name, message) == ("WARN", "keda_py.operator.scaled_objects.look", "metric source failed")
    assert json.loads(extras) == {"trigger": "s0-prometheus"}


def test_a_terminal_gets_colours() -> None:
    stream = Terminal()
    logs.configure(logging.INFO, "console", "rfc3339", stream)
    log.error("cannot write")
    assert "\x1b[31mERROR\x1b[0m" in stream.getvalue()


@pytest.mark.parametrize("encoder", ["json", "console"])
def test_a_secret_is_stars_wherever_it_hides(encoder: logs.Encoder) -> None:
    stream = lines(encoder)
    secret = SecretStr("hunter2")
    log.info("asked %s", secret, extra={"token": secret, "parameters": {"password": secret, "list": [secret]}})
    assert "hunter2" not in stream.getvalue()
    assert "***" in stream.getvalue()


@pytest.mark.parametrize("encoder", ["json", "console"])
def test_one_record_is_one_bounded_line(encoder: logs.Encoder) -> None:
    stream = lines(encoder)
    log.info("first\nsecond %s", "x" * 100_000, extra={"body": "y" * 100_000, "nested": {"a": ["z" * 100_000]}})
    assert stream.getvalue().count("\n") == 1
    assert len(stream.getvalue()) < 4 * logs.LONGEST_TEXT
    assert "more)" in stream.getvalue()


@pytest.mark.parametrize("encoder", ["json", "console"])
@pytest.mark.parametrize("value", [2**70, "\ud800", {1: "\ud800"}, object(), b"\xff", float("nan"), {"k": {1, 2}}])
def test_no_value_can_break_a_line(encoder: logs.Encoder, value: object) -> None:
    stream = lines(encoder)
    log.info("odd value", extra={"value": value, "reason": "kept"})
    assert "odd value" in stream.getvalue()
    assert "kept" in stream.getvalue()


def test_a_stack_trace_stays_inside_the_json_line() -> None:
    stream = lines("json")
    try:
        raise RuntimeError("no such thing")
    except RuntimeError:
        log.exception("reconcile failed")
    line = json.loads(stream.getvalue())
    assert line["level"] == "error"
    assert line["stacktrace"].endswith("RuntimeError: no such thing")


@pytest.mark.parametrize(
    ("encoding", "pattern"),
    [
        ("epoch", r"\d+(\.\d+)?"),
        ("millis", r"\d{13}(\.\d+)?"),
        ("nano", r"\d{19}"),
        ("iso8601", r'"[-\d]+T[:\d]+\.\d{3}Z"'),
        ("rfc3339", r'"[-\d]+T[:\d]+Z"'),
        ("rfc3339nano", r'"[-\d]+T[:\d]+\.\d{6}Z"'),
    ],
)
def test_times_are_written_as_asked_for(encoding: str, pattern: str) -> None:
    stream = lines("json", time_encoding=encoding)
    log.info("tick")
    assert re2.search(rf'"ts":{pattern}[,}}]', stream.getvalue())


def test_debug_lines_of_libraries_stay_unheard_and_ours_are_heard() -> None:
    stream = lines("json", level=logging.DEBUG)
    logging.getLogger("httpx").info("GET https://example.org/?token=hunter2")
    logging.getLogger("botocore.auth").debug("credentials")
    logging.getLogger("httpx").warning("slow")
    log.debug("polled")
    assert [json.loads(line)["msg"] for line in stream.getvalue().splitlines()] == ["slow", "polled"]


def test_an_extra_cannot_forge_the_level() -> None:
    stream = lines("json")
    log.info("real", extra={"level": "panic", "logger": "x"})
    assert json.loads(stream.getvalue())["level"] == "info"
