"""A reconcile that stopped at one of its steps."""

from keda_py.errors import KedaPyError


class StepError(KedaPyError):
    """The text names the step; `cause` says whether trying again can help."""

    def __init__(self, step: str, cause: KedaPyError) -> None:
        super().__init__(step)
        self.cause = cause
