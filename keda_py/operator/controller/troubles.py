"""What goes wrong with one object is said once, and once more when it is over: an hour is not 240 warnings.

Used by the controller where a reconcile or a look fails, and by the reconcilers' own reports.
"""

import logging

from keda_py.errors import KedaPyError
from keda_py.operator.controller.state import NOTHING, Remembered, about

REMEMBERED = 16
"""Texts; an object with more, one that holds a time or a port perhaps, has said enough until it works again."""


def log_trouble(log: logging.Logger, state: Remembered, message: str, error: Exception) -> None:
    """WARNING for what is new since the last success, DEBUG for what was said already.

    What this project did not raise on purpose is a bug: an ERROR with its traceback.
    """
    text = f"{type(error).__name__}: {error}"
    is_new = text not in state.troubles and len(state.troubles) < REMEMBERED
    if is_new:
        state.troubles |= {text}
    bug = None if isinstance(error, KedaPyError) else error
    level = logging.DEBUG if not is_new else logging.ERROR if bug else logging.WARNING
    log.log(level, message, extra=about(state) | {"error": str(error)}, exc_info=bug if is_new else None)


def log_recovery(log: logging.Logger, state: Remembered) -> None:
    """It works again, if it did not."""
    if state.troubles:
        state.troubles = NOTHING
        log.info("work succeeds again", extra=about(state))
