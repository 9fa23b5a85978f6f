"""Assembly of the ScaledObjects: their scale targets and HPAs, a controller, and the answers to the HPA's questions.

`operator/assembly.py` comes here; `app.py` runs it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.evaluation import MetricValue
from keda_py.core.quarantine import Work
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.external_metrics.metric_values import Questions
from keda_py.external_metrics.query import PREFIX, Query, QueryError
from keda_py.kube.discovery import Discovery
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.namespaces import Namespaces
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.process.quarantine import Quarantine, work_on
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import FallbackTarget
from keda_py.operator.scaled_objects.hpas import Hpas
from keda_py.operator.scaled_objects.kind import ScaledObjects
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Targets
from keda_py.operator.sharding.tenures import Tenures
from keda_py.operator.waking.request_triggers import RequestTriggers

Specs = SpecSource[ScaledObject, ScalingSpec]


# The HPA's question about an object that is held back gets an error; its replicas then stay as they are.
#
# `operator/serving.py` puts it before the `Query`, on every replica.


class GuardedQuestions:
    """`Questions`, each of them written down in the journal. `find` is the cache of ScaledObjects."""

    def __init__(self, questions: Questions, quarantine: Quarantine, find: Callable[[str, str], Obj | None]) -> None:
        self._questions, self._quarantine, self._find = questions, quarantine, find

    def answer_at_once(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """Answer as the questions do. That reads nothing and computes sums alone, so that no journal is kept of it."""
        live = self._find(namespace, scaled_object)
        if live is not None and self._quarantine.review(_work_on(namespace, scaled_object, live), live) is not None:
            return None
        return self._questions.answer_at_once(namespace, metric, scaled_object)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledObjectParts:
    """What `operator/assembly.py` has of ScaledObjects; `questions` answers the HPA."""

    dependencies: ScaledObjectDependencies
    controller: Controller[ObjectState]
    questions: GuardedQuestions

    @property
    def component(self) -> Component:
        """What runs of it, and when."""
        return Component(
            share=(self.controller.run,),
            controllers=(self.controller,),
            on_clock_step=(self.controller.look_at_all,),
            on_share=(self.dependencies.shared.activations.clear,),
        )


def assemble_scaled_objects(parts: ScaledObjectDependencies, workers: int, tenures: Tenures) -> ScaledObjectParts:
    """Put them together; nothing runs yet."""
    controller = Controller(parts.shared, ScaledObjects(parts), workers, tenures)
    parts.shared.activations.subscribe(controller.kind, controller.on_turn)
    targets = FallbackTarget(parts.shared.client, parts.targets, parts.reader, controller.states)
    query = Query(readings=parts.shared.readings, targets=targets, specs=partial(_find_spec, parts))
    questions = GuardedQuestions(query, parts.shared.quarantine, parts.caches.scaled_objects.get)
    return ScaledObjectParts(dependencies=parts, controller=controller, questions=questions)


def scaled_object_parts_of(
    shared: Dependencies,
    caches: Caches,
    discovery: Discovery,
    reader: ClusterReader,
    specs: Specs,
    requests: RequestTriggers | None = None,
) -> ScaledObjectDependencies:
    """Put together what all kinds share, and what ScaledObjects need beside it; for a shadow, too."""
    return ScaledObjectDependencies(
        shared=shared,
        caches=caches,
        namespaces=Namespaces(shared.client),
        targets=Targets(shared.client, caches, discovery, shared.clock),
        hpas=Hpas(shared.client, caches.hpas),
        specs=specs,
        reader=reader,
        requests=requests,
    )


def _find_spec(parts: ScaledObjectDependencies, key: ObjectKey) -> ScalingSpec | None:
    live = parts.caches.scaled_objects.get(key.namespace, key.name)
    try:
        return parts.specs.read(live) if live else None
    except ConfigError:
        return None
