"""Bounded waits for what the cluster shows."""

import asyncio
import time
from collections.abc import Callable

from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj, ObjectPath

PAUSE = 0.05


async def until(client: KubeClient, path: ObjectPath, holds: Callable[[Obj], bool], seconds: float) -> Obj:
    """The object as soon as it is so. Raises AssertionError with its end when it is not in time."""
    deadline, live = time.monotonic() + seconds, Obj()
    while True:
        try:
            live = await client.get(path)
        except NotFound:
            live = {}
        if live and holds(live):
            return live
        last = str(live.get("status") or live)[:1000]
        assert time.monotonic() < deadline, f"{path.label} {path.name} is not as expected after {seconds:g} s: {last}"
        await asyncio.sleep(PAUSE)
