"""Log records of the webhook process, written by the operator: one form and one stream for both."""

import logging

from keda_py.logs import extras_of
from keda_py.operator.admission.webhook.link import Link, Message

LONGEST_TRACE = 16 * 1024

_LOGGERS = ("keda_py", "scalers")


class _Forwarding(logging.Handler):
    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        """Never raises, never waits."""
        try:
            self._link.tell({"log": to_wire(record)})
        except Exception:  # noqa: BLE001 - what cannot be told must not end what told it
            self.handleError(record)


def forward_logs(link: Link, level: int) -> None:
    """Send every later log record of this process to the operator; those of libraries from WARNING on."""
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_Forwarding(link)], force=True)
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(True)


def to_wire(record: logging.LogRecord) -> Message:
    """Return the fields of a record that the operator logs."""
    trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
    return {
        "logger": record.name,
        "level": record.levelno,
        "message": record.getMessage()[:1024],
        "extra": {name: value if _is_plain(value) else str(value)[:4096] for name, value in extras_of(record).items()},
        "trace": trace[-LONGEST_TRACE:],
    }


def log_forwarded(record: Message) -> None:
    """On the operator's side: as if it had been logged here."""
    extra = dict(record["extra"]) | ({"stacktrace": record["trace"]} if record["trace"] else {})
    logging.getLogger(record["logger"]).log(record["level"], record["message"], extra=extra)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float)
