"""The HPA's question about an object that is held back gets an error; its replicas then stay as they are.

`operator/serving.py` puts it before the `Query`, on every replica.
"""

from collections.abc import Callable

from keda_py.core.evaluation import MetricValue
from keda_py.core.quarantine import Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.external_metrics.metric_values import Questions
from keda_py.external_metrics.query import PREFIX, QueryError
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.process.quarantine import Quarantine, work_on


class GuardedQuestions:
    """`Questions`, each of them written down in the journal. `find` is the cache of ScaledObjects."""

    def __init__(self, questions: Questions, quarantine: Quarantine, find: Callable[[str, str], Obj | None]) -> None:
        self._questions, self._quarantine, self._find = questions, quarantine, find

    def known(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """As the questions know. Nothing of an object is worked on for that, so nothing is written down."""
        live = self._find(namespace, scaled_object)
        if live is not None and self._quarantine.review(_work_on(namespace, scaled_object, live), live) is not None:
            return None
        return self._questions.known(namespace, metric, scaled_object)

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """As the questions answer. Raises QueryError."""
        live = self._find(namespace, scaled_object)
        if live is None:
            return await self._questions.answer(namespace, metric, scaled_object)
        work = _work_on(namespace, scaled_object, live)
        if refusal := self._quarantine.refusal(work, live):
            raise QueryError(f"{PREFIX}{refusal}")
        answer = self._questions.answer
        return await self._quarantine.run(work, live, lambda _: answer(namespace, metric, scaled_object))


def _work_on(namespace: str, name: str, live: Obj) -> Work:
    return work_on(ObjectKey(SCALED_OBJECTS.kind, namespace, name), live)
