"""A source that tells of work is read at once; one that says there is no work is not."""

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
    """A ScaledObject on the tap that pushes."""
    meta = {"name": name, "namespace": "shop", "uid": name, "generation": 1}
    body = {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "push", "metadata": {"tap": "a"}}]}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_work_that_a_source_tells_of_is_read_and_looked_at_at_once(world):
    await world.build(PUSH)
    await world.outcomes()
    world.taps["a"].value = 7.0
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.told == [KEY, KEY])
    assert await world.outcomes() == [Reading(value=7.0, active=True)]
    assert world.taps["a"].reads == 2


async def test_a_source_that_says_there_is_no_work_is_not_read(world):
    await world.build(PUSH)
    world.taps["a"].pushed.put_nowait(False)
    await until(world.taps["a"].pushed.empty)
    assert (world.taps["a"].reads, world.told) == (0, [])


async def test_a_reading_that_began_before_the_work_is_not_the_answer(world):
    await world.build(PUSH)
    world.taps["a"].hangs = True
    world.readings.begin(KEY)
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1 and world.taps["a"].pushed.empty())
    world.taps["a"].flowing.set()
    await until(lambda: world.taps["a"].reads == 2)


async def test_only_the_trigger_that_pushes_is_read(world):
    await world.build({"metadata": {"tap": "b"}}, PUSH)
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1)
    assert world.taps["b"].reads == 0


async def test_a_source_that_pushes_without_end_is_read_now_and_then(world):
    await world.build(PUSH)
    for _ in range(50):
        world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1)
    await asyncio.sleep(LONG_ENOUGH_TO_READ_AGAIN)
    assert world.taps["a"].reads == 1


async def test_a_stream_that_fails_is_followed_again(world):
    await world.build(PUSH)
    world.taps["a"].pushed.put_nowait(ValueError("of a plug-in"))
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1)


async def test_an_object_that_is_forgotten_is_not_listened_to(world):
    await world.build(PUSH)
    await until(lambda: world.taps["a"].listeners == 1)
    await world.build(PUSH, generation=2)
    await until(lambda: world.taps["a"].listeners == 1)
    await world.readings.forget(KEY)
    await until(lambda: world.taps["a"].listeners == 0)


async def test_the_scaler_that_takes_anothers_place_is_listened_to(world):
    await world.build(PUSH)
    await until(lambda: world.taps["a"].listeners == 1)
    world.resolver.auth = {"password": "new"}
    assert await world.readings.renew(KEY, [0])
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1)
    assert world.taps["a"].listeners == 1


async def test_a_stream_for_waking_alone_is_followed_while_the_object_is_idle(world):
    await world.build({"type": "push", "metadata": {"idle": "1"}})
    await turns()
    assert world.taps["a"].listeners == 0
    for _ in range(2):
        world.readings.note_idle(KEY, idle=True)
        await until(lambda: world.taps["a"].listeners == 1)
        world.readings.note_idle(KEY, idle=True)
        world.readings.note_idle(KEY, idle=False)
        await until(lambda: world.taps["a"].listeners == 0)
    world.readings.note_idle(KEY, idle=True)
    world.resolver.auth = {"password": "new"}
    assert await world.readings.renew(KEY, [0])
    world.taps["a"].pushed.put_nowait(True)
    await until(lambda: world.taps["a"].reads == 1)
    assert world.taps["a"].listeners == 1


async def test_a_scaler_without_a_stream_is_left_to_the_polls():
    asked = []

    class Silent:
        listens_at_zero_only = False

        def watch(self):
            asked.append("watch")

    async def pushed(scalers, index):
        raise AssertionError("nothing was pushed")

    class Stand(SimpleNamespace):
        __hash__ = object.__hash__

    silent = Silent()
    spec = SimpleNamespace(namespace="shop", key=KEY)
    scalers = Stand(scalers=(silent,), scaler=lambda index: silent, spec=spec, on_renewed=None)
    with ExitStack() as listening:
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:  # which ends with its last task
            pushes = Pushes(tasks.create_task, pushed)
            listening.enter_context(pushes.listening())
            pushes.follow(scalers)
    assert asked == ["watch"]


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
