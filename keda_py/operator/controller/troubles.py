"""Log lines about failures of one object: one when a failure begins, one when all is well, not 240 an hour.

Used by the controller where a reconcile or a look fails, and by the reconcilers' own reports.
"""

import logging

from keda_py.errors import KedaPyError
from keda_py.operator.controller.state import NOTHING, Remembered, about

# Texts per object: one whose errors contain a time or a port would log without end.
REMEMBERED = 16


class StepError(KedaPyError):
    """A reconcile stopped at a step, which the text names; `cause` says whether trying again can help."""

    def __init__(self, step: str, cause: KedaPyError) -> None:
        super().__init__(step)
        self.cause = cause


def log_trouble(log: logging.Logger, state: Remembered, message: str, error: Exception) -> None:
    """Log an error: WARNING if it is new since the last success, DEBUG if it was logged before.

    An exception that is not of this project is a bug, logged as ERROR with its traceback.
    """
    text = f"{type(error).__name__}: {error}"
    is_new = text not in state.troubles and len(state.troubles) < REMEMBERED
    if is_new:
        state.troubles |= {text}
    bug = None if isinstance(error, KedaPyError) else error
    level = logging.DEBUG if not is_new else logging.ERROR if bug else logging.WARNING
    log.log(level, message, extra=about(state) | {"error": str(error)}, exc_info=bug if is_new else None)


def log_recovery(log: logging.Logger, state: Remembered) -> None:
    """Log that work on an object succeeds again, if it had failed."""
    if state.troubles:
        state.troubles = NOTHING
        log.info("work succeeds again", extra=about(state))
