"""The steps of a ScaledJob's reconcile that can fail, in KEDA's words. Behaviour reference, section 10.4."""

from collections.abc import Iterator
from contextlib import contextmanager

from keda_py.errors import ConfigError, Forbidden, Invalid, NotFound, ScalerError
from keda_py.operator.controller.steps import StepError

READ = "ScaledJob cannot be read"
NO_JOB = "ScaledJob.spec.jobTargetRef not found"
TRIGGERS = "ScaledJob doesn't have correct triggers specification"
JOBS = "Jobs cannot be counted, so none is created"
BUILD = "Failed to ensure ScaledJob is correctly created"
METRIC_TYPE = "Cannot set metricType in ScaledJob triggers"


@contextmanager
def step(text: str) -> Iterator[None]:
    """What goes wrong inside is that step's failure; an API server that does not answer is no step's failure."""
    try:
        yield
    except (ConfigError, ScalerError, Forbidden, Invalid, NotFound) as error:
        raise StepError(text, error) from error
