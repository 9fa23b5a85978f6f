"""Work on keys that is tried again, later with each failure in a row; what goes wrong is said once.

For objects that need no memory beyond that: `authentications/authentications.py` and `cloud_events/sources.py` work
inside `attempt`.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keda_py.answers.work_context import working
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError, NotFound, ScalerError
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.work_queue import DueQueue

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0

log = logging.getLogger(__name__)


class Retries:
    """`interrupted` and `failed` are the log's words for errors and for bugs."""

    def __init__(self, *, interrupted: str, failed: str) -> None:
        self._interrupted, self._failed = interrupted, failed
        self._failures: Counter[ObjectKey] = Counter()

    def forget(self, key: ObjectKey) -> None:
        """Reset the back-off of a key that is done or gone."""
        self._failures.pop(key, None)

    @contextmanager
    def attempt(self, queue: DueQueue, key: ObjectKey, about: Mapping[str, str]) -> Iterator[None]:
        """Catch and log what the block, which works on `key`, raises, and make the key due again after a back-off."""
        try:
            with working(key.namespace):
                yield
        except NotFound:
            self.forget(key)
        except (KubeError, ScalerError) as error:
            level = logging.DEBUG if self._failures[key] else logging.WARNING
            log.log(level, self._interrupted, extra={**about, "error": str(error)})
            self._try_again(queue, key)
        except Exception:  # one bad object does not affect the others: they go on
            log.exception(self._failed, extra=about)
            self._try_again(queue, key)
        else:
            self.forget(key)

    def _try_again(self, queue: DueQueue, key: ObjectKey) -> None:
        queue.add(key, retry_delay(self._failures[key]))
        self._failures[key] += 1


def retry_delay(attempts: int, longest: float = LAST_RETRY_SECONDS) -> float:
    """Seconds to wait after so many failed attempts: twice as long each time, up to `longest`."""
    return min(FIRST_RETRY_SECONDS * 2.0 ** min(attempts, 10), longest)


def next_delay(state: Remembered, longest: float = LAST_RETRY_SECONDS) -> float:
    """Count a failure, and return the seconds to wait: a running loop never waits longer than its polling interval."""
    if state.spec is not None:
        longest = min(longest, state.spec.polling_interval.total_seconds())
    delay = retry_delay(state.attempts, longest)
    state.attempts += 1
    return delay
