"""Jobs that a replica knows when it begins to lead."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.core.jobs.spec import JOB_NAME_LABEL
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.client import KubeClient
from keda_py.operator.scaled_jobs.caches import JobCaches
from tests.kube.faulty_server import (
    FaultyServer,
    event,
    listing,
    refuses,
    running,
    says,
    serving,
    streams,
    thing,
    write_kubeconfig,
)
from tests.waiting import eventually, forever

STILL_SECONDS = 0.1
"""Real time in which caches that do not wait for the last event would be done."""

JOBS, PODS, SCALED_JOBS = "/apis/batch/v1/jobs", "/api/v1/pods", "/apis/keda.sh/v1alpha1/scaledjobs"


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with serving(FaultyServer()) as faulty:
        yield faulty


@pytest.fixture
async def client(server: FaultyServer, tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with KubeClient(SystemClock(), write_kubeconfig(tmp_path / "kubeconfig", server.url)) as opened:
        yield opened


async def test_no_job_is_created_before_those_of_the_replica_before_are_seen(
    server: FaultyServer, client: KubeClient
) -> None:
    job = thing("one", 5)
    job["metadata"]["labels"] = {JOB_NAME_LABEL: "work"}
    arrives = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await arrives.wait()
        await response.write(orjson.dumps(event("ADDED", job)) + b"\n")
        await forever()
        return response

    server.answer(f"GET {JOBS}", says(listing(1)), refuses(500, "InternalError"), says(listing(5, job)))
    server.answer(f"WATCH {JOBS}", late)
    server.answer(f"GET {PODS}", says(listing(1)))
    server.answer(f"GET {SCALED_JOBS}", says(listing(1, thing("work", 1))))
    for path in (PODS, SCALED_JOBS):
        server.answer(f"WATCH {path}", streams(then="hang"))
    caches = JobCaches(client, ())
    async with running(caches.run()):
        await caches.synced()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(caches.caught_up())
            await eventually(lambda: len([one for one in server.queries("GET") if "labelSelector" in one]) >= 4)
            await asyncio.sleep(STILL_SECONDS)
            assert not waiting.done()
            arrives.set()
        assert [one["metadata"]["name"] for one in caches.jobs_of(ObjectKey("ScaledJob", "ns", "work"))] == ["one"]
