"""Questions about an object that is held back. Virtual time."""

import pytest

from keda_py.core.evaluation import MetricValue
from keda_py.core.quarantine import Hold
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError
from keda_py.explanation.page import print_explanation
from keda_py.external_metrics.query import QueryError
from keda_py.kube.client import Request
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.operator.process.quarantine import Quarantine, work_on
from keda_py.operator.scaled_objects.parts import GuardedQuestions
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE
from tests.operator.process.lives import Lives, Sources, create, question


class Alike:
    """Questions that have one answer; the first is to be a trial."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._asked = journal, 0

    def answer_at_once(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        return ()

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        self._asked += 1
        assert bool(self._journal.trials) == (self._asked == 1)
        return ()


async def test_the_hpa_gets_an_error_that_says_why(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison", "ordinary")
    await lives.died("poison")
    await lives.world.seconds(5)
    with pytest.raises(KubeError, match="held back: work on it has ended the operator's process once"):
        await question(lives.world, "poison")
    await question(lives.world, "ordinary")
    assert "poison" not in sources.asked


async def test_keda_py_explain_tells_the_same(
    lives: Lives, sources: Sources, capsys: pytest.CaptureFixture[str]
) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    await lives.world.seconds(5)
    path = "/apis/insight.keda-py.dev/v1alpha1/namespaces/default/scaledobjects/poison"
    print_explanation(await lives.world.client.send(Request(method="GET", path=path)))
    told = capsys.readouterr().out
    assert told.startswith("default/poison: not scaled: held back: work on it has ended the operator's process once.")


async def test_a_question_that_comes_when_it_is_due_is_a_trial(lives: Lives, sources: Sources) -> None:
    """On a replica that does not lead there is no other."""
    world = lives.world
    await create(world, sources, "app")
    await lives.begin()
    await world.seconds(5)
    await world.operator.stop()
    live = world.get(SCALED_OBJECTS, "app")
    work = work_on(ObjectKey.of("ScaledObject", live), live)
    journal = Journal(memoryview(bytearray(SIZE)), lives.now)
    journal.inherited = (Hold(work=work, deaths=0, died=lives.now, seconds=30),)
    quarantine = Quarantine(world.clock, journal)
    questions = GuardedQuestions(Alike(journal), quarantine, lambda *_: live)
    with pytest.raises(QueryError, match="held back"):
        await questions.answer("default", "s0-metric-api-value", "app")
    assert questions.answer_at_once("default", "s0-metric-api-value", "app") is None
    await world.seconds(30)
    assert await questions.answer("default", "s0-metric-api-value", "app") == ()
    assert (quarantine.count("ScaledObject"), journal.trials) == (0, set())
    assert await questions.answer("default", "s0-metric-api-value", "app") == ()
    assert questions.answer_at_once("default", "s0-metric-api-value", "app") == ()
