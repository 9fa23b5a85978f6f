"""Log lines in a form that KEDA's users know: zap's JSON keys, or one readable line on a console.

`keda_py/cli` calls `configure` once; all other code uses `logging.getLogger(__name__)` and passes data in `extra=`.
Rules: the message is constant, so that logs can be grouped by it; one record is one bounded line; SecretStr prints as
stars, and libraries that log URLs or credentials are logged from WARNING on only.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal, TextIO

import orjson

Encoder = Literal["json", "console"]
TimeEncoder = Callable[[float], str | float | int]

LONGEST_TEXT = 4096
"""Characters of one value; a longer one is cut, with a note of how much."""

_LEVELS = {"DEBUG": "debug", "INFO": "info", "WARNING": "warn", "ERROR": "error", "CRITICAL": "panic"}
_COLOURS = {"DEBUG": "2", "INFO": "36", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_OWN_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_OURS = ("keda_py", "scalers")


def _rfc3339(when: float, timespec: str = "seconds") -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec=timespec).removesuffix("+00:00") + "Z"


TIME_ENCODERS: Mapping[str, TimeEncoder] = {
    "epoch": lambda when: when,
    "millis": lambda when: when * 1e3,
    "nano": lambda when: int(when * 1e9),
    "iso8601": lambda when: _rfc3339(when, "milliseconds"),
    "rfc3339": _rfc3339,
    "rfc3339nano": lambda when: _rfc3339(when, "microseconds"),
}


def configure(level: int, encoder: Encoder, time_encoding: str, stream: TextIO | None = None) -> None:
    """Send every record of the process to `stream` (stderr), in one form. Calling it again replaces the form."""
    target = stream or sys.stderr
    encode_time = TIME_ENCODERS[time_encoding]
    form = JsonFormatter(encode_time) if encoder == "json" else ConsoleFormatter(encode_time, colour=target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(form)
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(True)


class JsonFormatter(logging.Formatter):
    """Formatter of lines like `{"level":"info","ts":"2026-11-21T05:56:00Z","logger":"...","msg":"...", ...extras}`."""

    def __init__(self, encode_time: TimeEncoder) -> None:
        super().__init__()
        self._encode_time = encode_time

    def format(self, record: logging.LogRecord) -> str:
        """Return one JSON object without a line break."""
        fields: dict[str, object] = {
            "level": _LEVELS.get(record.levelname, record.levelname.lower()),
            "ts": self._encode_time(record.created),
            "logger": record.name,
            "msg": _cut(record.getMessage()),
        }
        if record.exc_info:
            fields["stacktrace"] = _cut_front(self.formatException(record.exc_info))
        return _to_json(fields | {key: value for key, value in _extras(record).items() if key not in fields})


class ConsoleFormatter(logging.Formatter):
    """Formatter of lines like `2026-11-21T05:56:00Z  INFO  keda_py.operator  message  {"extra": ...}`, coloured."""

    def __init__(self, encode_time: TimeEncoder, *, colour: bool) -> None:
        super().__init__()
        self._encode_time, self._colour = encode_time, colour

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a stack trace follows on lines of its own."""
        level = _LEVELS.get(record.levelname, record.levelname).upper()
        if self._colour:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        message = _cut(record.getMessage()).replace("\n", "\\n")
        parts = [str(self._encode_time(record.created)), level, record.name, message]
        if extras := _extras(record):
            parts.append(_to_json(extras))
        line = "\t".join(parts)
        return f"{line}\n{_cut_front(self.formatException(record.exc_info))}" if record.exc_info else line


def extras_of(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields that were given as `extra=`."""
    return {key: value for key, value in vars(record).items() if key not in _OWN_ATTRIBUTES}


def _extras(record: logging.LogRecord) -> dict[str, object]:
    return {key: _bounded(value) for key, value in extras_of(record).items()}


def _bounded(value: object) -> object:
    """Return the value if it is small and JSON, else its text, cut."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut(value)
    try:
        encoded = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a lone surrogate, a cycle
        return _cut(str(value))
    return orjson.Fragment(encoded) if len(encoded) <= LONGEST_TEXT else _cut(encoded.decode())


def _to_json(fields: Mapping[str, object]) -> str:
    try:
        return orjson.dumps(fields, default=str).decode()
    except TypeError:  # a lone surrogate or an integer over 64 bits
        return orjson.dumps({key: _printable(value) for key, value in fields.items()}, default=str).decode()


def _printable(value: object) -> object:
    return value if isinstance(value, orjson.Fragment) else str(value).encode("utf-8", "replace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text) - LONGEST_TEXT} more)"


def _cut_front(trace: str) -> str:
    """Cut a long stack trace at its beginning: the end names the error."""
    return trace if len(trace) <= 4 * LONGEST_TEXT else f"... {trace[-4 * LONGEST_TEXT :]}"
