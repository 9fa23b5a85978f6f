"""At hand-overs: no Job is created twice or forgotten, and any replica answers any question, with what is so.

One replica dies, one leaves in order, and a new one comes, while callers go on asking every replica for every object.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle

import aiohttp

from keda_py.kube.resources import JOBS
from tests.builders import metrics_api, scaled_job, usage
from tests.operator.replicas import FAST, Replica, Replicas, question
from tests.operator.sharding.crew import METRIC, NAMES, all_scaled, apps, is_settled, shared_out, three
from tests.waiting import eventually

WORKS = tuple(f"work-{number}" for number in range(6))
PAUSE = 0.05
"""Of a caller between two questions, and before it asks another replica once more."""


@dataclass
class Caller:
    """Asks one replica after the other. `wrong`: answers that are not so; `open`: questions that even a retry left."""

    replicas: Replicas
    value: str
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    async def run(self) -> None:
        names, turn = cycle(NAMES), 0
        while True:
            name, turn = next(names), turn + 1
            if not await self._ask(name, turn):
                await asyncio.sleep(PAUSE)
                if not await self._ask(name, turn + 1):
                    self.open.append(name)
            await asyncio.sleep(PAUSE)

    async def _ask(self, name: str, turn: int) -> bool:
        crew = list(self.replicas.running.values())
        replica: Replica = crew[turn % len(crew)]
        try:
            status, body = await replica.get(question(METRIC, name))
        except aiohttp.ClientError:
            return False  # the aggregator tries another endpoint
        if status == 200:
            self.answers[replica.name] += 1
            if (value := body["items"][0]["value"]) != self.value:
                self.wrong.append(f"{replica.name} says {value} of {name}")
        return status == 200


def jobs(replicas: Replicas) -> Counter[str]:
    return Counter(live["metadata"]["labels"]["scaledjob.keda.sh/name"] for live in replicas.all(JOBS))


async def test_no_job_is_created_twice_and_no_question_stays_open(replicas: Replicas) -> None:
    crew = await three(replicas)
    made: list[str] = []
    replicas.listen(
        lambda event: made.append("") if event.resource.plural == "jobs" and event.previous is None else None
    )
    await apps(replicas)
    replicas.jobs(3)
    for name in WORKS:
        trigger = metrics_api(replicas.url, target=1)
        work = scaled_job(trigger, name=name, pollingInterval=1, annotations=usage(run_seconds="3600"))
        await replicas.create(work)
    three_each = Counter(dict.fromkeys(WORKS, 3))
    await eventually(lambda: jobs(replicas) == three_each and all_scaled(replicas, 1))
    caller = Caller(replicas, "3")
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(caller.run())
        await replicas.kill(crew.pop(0))
        await eventually(lambda: all(is_settled(replica, 2) for replica in crew) and shared_out(crew))
        crew.append(await replicas.start("four", FAST, shards="3"))
        await crew[-1].operator.leading
        await eventually(lambda: all(is_settled(replica, 3) for replica in crew) and shared_out(crew))
        await replicas.stop(crew.pop(0))
        await eventually(lambda: all(is_settled(replica, 2) for replica in crew) and shared_out(crew))
        await eventually(lambda: jobs(replicas) == three_each)
        asking.cancel()
    assert len(made) == 3 * len(WORKS)
    assert (caller.wrong, caller.open) == ([], [])
    assert set(caller.answers) >= {"two", "three", "four"}
    replicas.jobs(5)  # what each new owner creates beside what it found
    await eventually(lambda: jobs(replicas) == Counter(dict.fromkeys(WORKS, 5)))
    assert len(made) == 5 * len(WORKS)
