"""Errors that become others leave no rings of frames behind: a source that is away would be 10 KB for each question."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from keda_py.clock import SystemClock
from keda_py.errors import ScalerError, Unavailable, forget_frames
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.readings.guard import guard
from keda_py.readings.tracked_metrics import when_done
from tests.kube.faulty_server import write_kubeconfig
from tests.servers import free_port

TIMES = 20
A_FEW = 40
"""Objects that a library may leave once."""


@pytest.fixture
def no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
        assert gc.collect() < A_FEW
    finally:
        gc.enable()


async def _refused() -> None:
    """As a library that keeps the error where it passed."""
    kept: list[Exception] = []
    try:
        await asyncio.open_connection("127.0.0.1", free_port())
    except OSError as error:
        kept.append(error)
        raise ScalerError("nothing listens there") from error


@pytest.mark.usefixtures("no_garbage")
async def test_a_source_that_refuses_every_connection_leaves_no_garbage() -> None:
    for _ in range(TIMES):
        with pytest.raises(ScalerError, match="nothing listens there"):
            await guard(_refused(), 5.0, what="a scaler")


async def test_an_api_server_that_is_away_leaves_no_garbage(tmp_path: Path) -> None:
    nowhere = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free_port()}")
    async with KubeClient(SystemClock(), nowhere) as client:

        async def ask() -> None:
            with pytest.raises(Unavailable, match="ClientConnectorError"):
                await client.get(DEPLOYMENTS.named("shop", "web"))

        await ask()
        gc.collect()
        gc.disable()
        try:
            for _ in range(TIMES):
                await ask()
            assert gc.collect() < A_FEW
        finally:
            gc.enable()


@pytest.mark.usefixtures("no_garbage")
async def test_a_poll_that_was_waited_for_leaves_no_garbage() -> None:
    loop = asyncio.get_running_loop()
    for _ in range(TIMES):
        flights, changed = [loop.create_future() for _ in range(2)], loop.create_future()
        over = when_done(flights, changed)
        assert over is not None
        for flight in flights:
            flight.set_result(None)
        await over


def test_errors_that_came_from_each_other_are_walked_once() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    for error in (first, second):
        with pytest.raises(ValueError, match=str(error)):
            raise error
    forget_frames(first)
    assert (first.__traceback__, second.__traceback__) == (None, None)
