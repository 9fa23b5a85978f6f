"""Events as people find them: once, counted, in time, and never delaying other work."""

import asyncio
import gc
import itertools
from collections import Counter
from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.kube.client import KubeClient
from keda_py.kube.events import SERIES_SECONDS, EventRecorder
from keda_py.kube.resources import Obj
from tests.costs import bytes_kept_by
from tests.kube.faulty_server import FaultyServer, Shelf, hangs, refuses, running, status
from tests.waiting import eventually

AWAY_SECONDS = 0.3
"""Real time in which a recorder that did not hear the refusal would have delivered."""

OBJECT: Obj = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"namespace": "ns", "name": "web", "uid": "u1", "resourceVersion": "7", "labels": {"a": "b"}},
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
async def client(kubeconfig: str, clock: FakeClock):
    async with KubeClient(clock, kubeconfig) as opened:
        yield opened


@pytest.fixture
def events(server: FaultyServer) -> Shelf:
    return Shelf(server, "/apis/events.k8s.io/v1/namespaces/ns/events")


@pytest.fixture
def recorder(client: KubeClient) -> EventRecorder:
    return EventRecorder(client, instance="pod-1")


async def test_an_event_says_what_happened_to_what(events: Shelf, recorder: EventRecorder) -> None:
    recorder.record(OBJECT, "Warning", "ScaledObjectCheckFailed", "no such target", action="checking")
    await recorder.flush(2.0)
    (event,) = events.objects.values()
    assert event["metadata"].pop("name").startswith("web.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "ns", "resourceVersion": "1"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "keda-operator",
        "reportingInstance": "pod-1",
        "action": "checking",
        "reason": "ScaledObjectCheckFailed",
        "regarding": {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "namespace": "ns",
            "name": "web",
            "uid": "u1",
            "resourceVersion": "7",
        },
        "note": "no such target",
        "type": "Warning",
    }


async def test_long_words_are_cut_to_what_the_server_takes(events: Shelf, recorder: EventRecorder) -> None:
    recorder.record(OBJECT, "Normal", "R", "ü" * 1000, action="a" * 200)
    await recorder.flush(2.0)
    (event,) = events.objects.values()
    assert event["note"] == "ü" * 512
    assert len(event["action"]) == 128


async def test_a_repeat_is_counted_on_the_first_event(events: Shelf, recorder: EventRecorder, clock: FakeClock) -> None:
    async with running(recorder.run()):
        recorder.record(OBJECT, "Normal", "Ready", "ready")
        await clock.advance(5.0)
        recorder.record(OBJECT, "Normal", "Ready", "ready")
        await eventually(lambda: any("series" in event for event in events.objects.values()))
    (event,) = events.objects.values()
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:05.000000Z"}


async def test_many_repeats_are_few_writes_and_the_last_count_is_kept(
    server: FaultyServer, events: Shelf, recorder: EventRecorder, clock: FakeClock
) -> None:
    async with running(recorder.run()):
        for _ in range(60):
            recorder.record(OBJECT, "Normal", "Ready", "ready")
            await clock.advance(1.0)
    await recorder.flush(2.0)
    (event,) = events.objects.values()
    assert event["series"]["count"] == 60
    assert len(server.seen) <= 10


async def test_an_event_that_no_repeat_can_join_is_forgotten_once_its_last_count_is_told(
    events: Shelf, recorder: EventRecorder, clock: FakeClock
) -> None:
    async with running(recorder.run()):
        for _ in range(4):
            recorder.record(OBJECT, "Normal", "Ready", "ready")
            await clock.advance(1.0)
        await clock.advance(400.0)
        recorder.record(OBJECT, "Normal", "Scaled", "0 -> 1")
        await eventually(lambda: any(event.get("series", {}).get("count") == 4 for event in events.objects.values()))


async def test_another_note_or_a_later_hour_is_another_event(
    events: Shelf, recorder: EventRecorder, clock: FakeClock
) -> None:
    recorder.record(OBJECT, "Normal", "Scaled", "0 -> 1")
    recorder.record(OBJECT, "Normal", "Scaled", "1 -> 0")
    await clock.advance(400.0)
    recorder.record(OBJECT, "Normal", "Scaled", "0 -> 1")
    await recorder.flush(2.0)
    assert [event["note"] for event in events.objects.values()] == ["0 -> 1", "1 -> 0", "0 -> 1"]


async def test_one_object_cannot_flood_the_server(events: Shelf, recorder: EventRecorder, clock: FakeClock) -> None:
    for number in range(100):
        recorder.record(OBJECT, "Normal", "Flap", f"{number}")
    other = {**OBJECT, "metadata": {**OBJECT["metadata"], "uid": "u2"}}
    recorder.record(other, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    assert len(events.objects) == 26
    assert recorder.dropped == 75
    await clock.advance(20.0)
    recorder.record(OBJECT, "Normal", "Flap", "later")
    await recorder.flush(2.0)
    assert len(events.objects) == 27


async def test_a_server_that_was_away_gets_the_events_later(events: Shelf, recorder: EventRecorder) -> None:
    events.fault = refuses(503, "ServiceUnavailable")
    async with running(recorder.run()):
        recorder.record(OBJECT, "Normal", "Ready", "ready")
        await asyncio.sleep(AWAY_SECONDS)
        assert not events.objects
        events.fault = None
        await eventually(lambda: len(events.objects) == 1)
    assert recorder.dropped == 0


async def test_an_event_that_makes_the_server_fail_keeps_no_other_back(events: Shelf, recorder: EventRecorder) -> None:
    async def fails_for_one(request):  # type: ignore[no-untyped-def]
        body = await request.json()
        return status(500, "InternalError") if body["note"] == "poison" else events.store(body)

    events.fault = fails_for_one
    async with running(recorder.run()):
        for note in ("poison", "good", "better"):
            recorder.record(OBJECT, "Normal", "Ready", note)
        await eventually(lambda: len(events.objects) == 2)
    assert {one["note"] for one in events.objects.values()} == {"good", "better"}


async def test_an_answer_lost_on_its_way_makes_no_second_event(events: Shelf, recorder: EventRecorder) -> None:
    async def stored_but_unanswered(request):  # type: ignore[no-untyped-def]
        events.store(await request.json())
        events.fault = None
        return status(504, "Timeout")

    events.fault = stored_but_unanswered
    recorder.record(OBJECT, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    assert len(events.objects) == 1


async def test_a_terminating_namespace_takes_no_events_and_that_is_no_failure(
    events: Shelf, recorder: EventRecorder
) -> None:
    events.fault = refuses(403, "Forbidden")
    recorder.record(OBJECT, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    events.fault = None
    recorder.record({**OBJECT, "metadata": {**OBJECT["metadata"], "uid": "u2"}}, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    assert len(events.objects) == 1
    assert recorder.dropped == 1


async def test_an_event_that_expired_is_written_anew_by_its_next_repeat(
    events: Shelf, recorder: EventRecorder, clock: FakeClock
) -> None:
    recorder.record(OBJECT, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    events.objects.clear()
    recorder.record(OBJECT, "Normal", "Ready", "ready")
    await recorder.flush(2.0)
    (event,) = events.objects.values()
    assert event["note"] == "ready"


async def test_a_flush_does_not_wait_for_a_hung_server(events: Shelf, recorder: EventRecorder) -> None:
    events.fault = hangs
    recorder.record(OBJECT, "Normal", "Ready", "ready")
    await recorder.flush(0.1)
    assert recorder.dropped == 1


async def test_events_of_cluster_scoped_objects_are_in_the_default_namespace(
    server: FaultyServer, recorder: EventRecorder
) -> None:
    default = Shelf(server, "/apis/events.k8s.io/v1/namespaces/default/events")
    recorder.record({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}, "Normal", "R", "note")
    await recorder.flush(2.0)
    assert len(default.objects) == 1


def test_an_event_that_is_remembered_for_its_repeats_is_small(recorder: EventRecorder) -> None:
    count, numbers = 500, itertools.count()

    def remembered() -> EventRecorder:
        for number in itertools.islice(numbers, count):
            metadata = {**OBJECT["metadata"], "name": f"web-{number}", "uid": f"u-{number}"}
            recorder.record({**OBJECT, "metadata": metadata}, "Normal", "KEDAScalersStarted", "Started scalers watch")
        return recorder

    assert bytes_kept_by(remembered) / count < 1_400  # as dicts they took 1 700 bytes each


def remembered_of_events() -> dict[str, int]:
    gc.collect()
    kinds = Counter(type(one) for one in gc.get_objects())
    ours = (kind for kind in kinds if kind.__module__ == EventRecorder.__module__ and kind is not EventRecorder)
    return {kind.__name__: kinds[kind] for kind in ours}


async def test_nothing_is_kept_of_events_that_no_repeat_can_join(
    clock: FakeClock, client: KubeClient, events: Shelf
) -> None:
    recorder = EventRecorder(client, instance="pod-1")
    for number in range(20):
        metadata = {**OBJECT["metadata"], "name": f"web-{number}", "uid": f"u-{number}"}
        recorder.record({**OBJECT, "metadata": metadata}, "Normal", "KEDAScalersStarted", "Started scalers watch")
    await recorder.flush(2.0)
    assert remembered_of_events() == {"_Series": 20, "_Allowance": 20}
    await clock.advance(SERIES_SECONDS + 1)
    recorder.forget_old()
    assert remembered_of_events() == {}


async def test_of_an_object_that_is_gone_all_is_told_and_nothing_kept(
    clock: FakeClock, client: KubeClient, events: Shelf
) -> None:
    recorder = EventRecorder(client, instance="pod-1")
    async with running(recorder.run()):
        for _ in range(4):
            recorder.record(OBJECT, "Normal", "Ready", "ready")
            await clock.advance(1.0)
        recorder.forget("u1")
        await eventually(lambda: any(event.get("series", {}).get("count") == 4 for event in events.objects.values()))
        await eventually(lambda: remembered_of_events() == {})
