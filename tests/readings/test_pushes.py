"""A source that reports work is read at once; one that reports no work is not."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.pushes import Pushes
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk.scaler import Reading
from tests.readings.conftest import Passwords, PushScaler, Tap, TapMetadata
from tests.waiting import turns

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""
LONG_ENOUGH_TO_READ_AGAIN = 0.1
"""Seconds in which a stream without a bound would be read many times."""

KEY = ObjectKey("ScaledObject", "shop", "app")
PUSH = {"type": "push"}


def push_spec(name: str) -> ScalingSpec:
    """Make a ScaledObject on the tap that pushes."""
    meta = {"name": name, "namespace": "shop", "uid": name, "generation": 1}
    body = {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "push", "metadata": {"tap": "a"}}]}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_work_that_a_source_tells_of_is_read_and_looked_at_at_once(engine):
    await engine.build(PUSH)
    await engine.outcomes()
    engine.taps["a"].value = 7.0
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.told == [KEY, KEY])
    assert await engine.outcomes() == [Reading(value=7.0, active=True)]
    assert engine.taps["a"].reads == 2


async def test_a_source_that_says_there_is_no_work_is_not_read(engine):
    await engine.build(PUSH)
    engine.taps["a"].pushed.put_nowait(False)
    await until(engine.taps["a"].pushed.empty)
    assert (engine.taps["a"].reads, engine.told) == (0, [])


async def test_a_reading_that_began_before_the_work_is_not_the_answer(engine):
    await engine.build(PUSH)
    engine.taps["a"].hangs = True
    engine.readings.read_ahead(KEY)
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1 and engine.taps["a"].pushed.empty())
    engine.taps["a"].flowing.set()
    await until(lambda: engine.taps["a"].reads == 2)


async def test_only_the_trigger_that_pushes_is_read(engine):
    await engine.build({"metadata": {"tap": "b"}}, PUSH)
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1)
    assert engine.taps["b"].reads == 0


async def test_a_source_that_pushes_without_end_is_read_now_and_then(engine):
    await engine.build(PUSH)
    for _ in range(50):
        engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1)
    await asyncio.sleep(LONG_ENOUGH_TO_READ_AGAIN)
    assert engine.taps["a"].reads == 1


async def test_what_a_source_repeats_is_not_kept_for_later(engine):
    """KEDA's HTTP add-on says five times a second that there is work: new work must not wait behind old news."""
    await engine.build(PUSH)
    for _ in range(50):
        engine.taps["a"].pushed.put_nowait(True)
    await until(engine.taps["a"].pushed.empty)
    assert engine.taps["a"].reads <= 2


async def test_work_that_a_source_tells_of_right_after_a_reading_is_read_as_well(engine):
    await engine.build(PUSH)
    for reads in (1, 2):
        engine.taps["a"].pushed.put_nowait(True)
        await until(lambda: engine.taps["a"].reads == reads)  # noqa: B023 - called before the next turn
    assert engine.taps["a"].pushed.empty()


async def test_what_a_source_tells_of_before_its_stream_breaks_is_read(engine):
    await engine.build(PUSH)
    engine.taps["a"].pushed.put_nowait(True)
    engine.taps["a"].pushed.put_nowait(ValueError("of a plug-in"))
    await until(lambda: engine.taps["a"].reads == 1)


async def test_a_stream_that_fails_is_followed_again(engine):
    await engine.build(PUSH)
    engine.taps["a"].pushed.put_nowait(ValueError("of a plug-in"))
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1)


async def test_an_object_that_is_forgotten_is_not_listened_to(engine):
    await engine.build(PUSH)
    await until(lambda: engine.taps["a"].listeners == 1)
    await engine.build(PUSH, generation=2)
    await until(lambda: engine.taps["a"].listeners == 1)
    await engine.readings.forget(KEY)
    await until(lambda: engine.taps["a"].listeners == 0)


async def test_the_scaler_that_takes_anothers_place_is_listened_to(engine):
    await engine.build(PUSH)
    await until(lambda: engine.taps["a"].listeners == 1)
    engine.resolver.auth = {"password": "new"}
    assert await engine.readings.renew(KEY, [0])
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1)
    assert engine.taps["a"].listeners == 1


async def test_a_stream_for_waking_alone_is_followed_while_the_object_is_idle(engine):
    await engine.build({"type": "push", "metadata": {"idle": "1"}})
    await turns()
    assert engine.taps["a"].listeners == 0
    for _ in range(2):
        engine.readings.note_idle(KEY, idle=True)
        await until(lambda: engine.taps["a"].listeners == 1)
        engine.readings.note_idle(KEY, idle=True)
        engine.readings.note_idle(KEY, idle=False)
        await until(lambda: engine.taps["a"].listeners == 0)
    engine.readings.note_idle(KEY, idle=True)
    engine.resolver.auth = {"password": "new"}
    assert await engine.readings.renew(KEY, [0])
    engine.taps["a"].pushed.put_nowait(True)
    await until(lambda: engine.taps["a"].reads == 1)
    assert engine.taps["a"].listeners == 1


async def test_a_scaler_without_a_stream_is_left_to_the_polls():
    asked = []

    class Silent:
        listens_at_zero_only = False

        def watch(self):
            asked.append("watch")

        def watch_specs(self):
            asked.append("watch_specs")

    async def pushed(scalers, index):
        raise AssertionError("nothing was pushed")

    def restate(scalers, index, specs):
        raise AssertionError("no metric was told")

    class Stand(SimpleNamespace):
        __hash__ = object.__hash__

    silent = Silent()
    spec = SimpleNamespace(namespace="shop", key=KEY)
    scalers = Stand(scalers=(silent,), scaler=lambda index: silent, spec=spec, on_renewed=None)
    with ExitStack() as listening:
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:  # the group ends with its last task
            pushes = Pushes(tasks.create_task, pushed, restate)
            listening.enter_context(pushes.listening())
            pushes.follow(scalers)
    assert asked == ["watch", "watch_specs"]


async def test_streams_are_held_open_only_while_this_replica_polls(lent):
    taps = {"a": Tap()}

    def build(trigger, context):
        return PushScaler(TapMetadata.parse(trigger.metadata, trigger.env, trigger.auth), context, taps)

    async with asyncio.TaskGroup() as tasks:
        source = ScalerSource(shared_context=lent, build=build, resolver=Passwords())
        readings = Readings(scalers=source, tasks=tasks, on_reading=lambda key: None)
        await readings.build(push_spec("standing"))
        await turns()
        assert taps["a"].listeners == 0
        with readings.listening():
            await readings.build(push_spec("new"))
            await until(lambda: taps["a"].listeners == 2)
        await until(lambda: taps["a"].listeners == 0)
        with readings.listening():
            await until(lambda: taps["a"].listeners == 2)
        await readings.aclose()
        assert taps["a"].listeners == 0
