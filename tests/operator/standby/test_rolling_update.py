"""Replicas replaced one by one while HPAs and users go on asking, through Services as in a cluster."""

import asyncio
from collections.abc import Awaitable, Callable

from keda_py.errors import KubeError
from keda_py.kube.resources import API_SERVICES, SCALED_OBJECTS, VALIDATING_WEBHOOK_CONFIGURATIONS, Obj
from keda_py.kube.transport import Request
from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.replicas import Replica, Replicas, question
from tests.servers import free_port
from tests.waiting import eventually

AFTERWARDS_SECONDS = 1.0
"""Questions go on for so long after the last replica has left: a late failure shows."""

METRIC = "s0-metric-api-value"
METRICS_SERVICE, WEBHOOK_SERVICE = "keda-metrics-apiserver", "keda-admission-webhooks"
API_SERVICE = "v1beta1.external.metrics.k8s.io"
PROBE_SECONDS = 0.2
ASK_PAUSE = 0.025
"""Of each client: a port that is shut before requests go elsewhere shows, as that takes up to `PROBE_SECONDS`."""
SHUTDOWN_DELAY = "3s"


def https_service(name: str) -> Obj:
    spec = {"ports": [{"name": "https", "port": 443, "protocol": "TCP"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "keda"}, "spec": spec}


def endpoints(name: str, ports: list[int]) -> list[Obj]:
    """A slice for each, since on one machine only ports tell replicas apart; of those that are not ready an empty one."""
    return [
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{name}-{place}",
                "namespace": "keda",
                "labels": {"kubernetes.io/service-name": name},
            },
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": port or 1, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}] if port else [],
        }
        for place, port in enumerate((ports + [0] * 4)[:4])
    ]


def registration() -> list[Obj]:
    """As the chart has them; the replica that leads writes its CA into both."""
    backend = {"name": METRICS_SERVICE, "namespace": "keda", "port": 443}
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 100}
    api_service = {"service": backend, "group": "external.metrics.k8s.io", "version": "v1beta1", **priorities}
    rule = {"apiGroups": ["keda.sh"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"]}
    called = {"name": WEBHOOK_SERVICE, "namespace": "keda", "path": "/validate-keda-sh-v1alpha1-scaledobject"}
    webhook = {
        "name": "vscaledobject.kb.io",
        "clientConfig": {"service": called},
        "rules": [{**rule, "resources": ["scaledobjects"]}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return [
        https_service(METRICS_SERVICE),
        https_service(WEBHOOK_SERVICE),
        {
            "apiVersion": API_SERVICES.api_version,
            "kind": "APIService",
            "metadata": {"name": API_SERVICE},
            "spec": {**api_service, "insecureSkipTLSVerify": True},
        },
        {
            "apiVersion": VALIDATING_WEBHOOK_CONFIGURATIONS.api_version,
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "keda-admission"},
            "webhooks": [webhook],
        },
    ]


class Deployment:
    """What kubelet and endpoint controller do: replicas that are ready get requests, by turns."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._webhooks: dict[str, int] = {}
        self._turn = 0
        self.busiest = ""
        """Who gets all requests while it is ready."""

    async def add(self, name: str) -> Replica:
        port = self._webhooks[name] = free_port()
        return await self._replicas.start(name, webhook_port=str(port), shutdown_delay=SHUTDOWN_DELAY)

    async def remove(self, replica: Replica) -> None:
        """Stop it while it gets all requests."""
        self.busiest = replica.name
        await asyncio.sleep(2 * PROBE_SECONDS)
        await self._replicas.stop(replica)

    async def run(self) -> None:
        while True:
            running = [one for one in list(self._replicas.running.values()) if await one.is_ready()]
            self._turn += 1
            first = self._turn % max(len(running), 1)
            by_turns = sorted(running[first:] + running[:first], key=lambda one: one.name != self.busiest)
            await self._publish(METRICS_SERVICE, [one.port for one in by_turns])
            await self._publish(WEBHOOK_SERVICE, [self._webhooks[one.name] for one in by_turns])
            await asyncio.sleep(PROBE_SECONDS)

    async def _publish(self, name: str, ports: list[int]) -> None:
        await self._replicas.cluster.apply(endpoints(name, ports))


class Clients:
    """Ask again and again, and note what fails."""

    def __init__(self) -> None:
        self.count, self.failures = 0, list[str]()

    async def run(self, ask: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await ask()
            except (KubeError, AssertionError) as error:
                self.failures.append(repr(error))
            self.count += 1
            await asyncio.sleep(ASK_PAUSE)


def succeeds(ask: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        try:
            await ask()
        except (KubeError, AssertionError):
            return False
        return True

    return look


async def test_a_rolling_update_fails_no_question_and_no_review(replicas: Replicas) -> None:
    replicas.jobs(7)
    rollout = Deployment(replicas)
    await replicas.create(deployment())
    await replicas.cluster.apply(registration())
    first, second = await rollout.add("one"), await rollout.add("two")
    answers, reviews = Clients(), Clients()
    wanted = scaled_object(metrics_api(replicas.url), pollingInterval=1)
    wanted["metadata"]["namespace"] = "default"

    async def ask() -> None:
        body = await replicas.client.send(
            Request(method="GET", path=question(METRIC).partition("?")[0], query=SELECTOR)
        )
        assert body["items"][0]["value"] == "7"

    async def review() -> None:
        path = SCALED_OBJECTS.named("default", "app").path
        await replicas.client.send(Request(method="PATCH", path=path, query=DRY_RUN, headers=MERGE, body=CHANGE))

    async def create() -> None:
        await replicas.client.create(SCALED_OBJECTS, wanted)

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(rollout.run())]
        for one in (create, ask, review):
            await eventually(succeeds(one))
        running += [tasks.create_task(answers.run(ask)) for _ in range(2)]
        running.append(tasks.create_task(reviews.run(review)))
        await rollout.add("three")
        for old in (first, second):
            await rollout.remove(old)
        await asyncio.sleep(AFTERWARDS_SECONDS)
        for task in running:
            task.cancel()
    assert answers.failures == reviews.failures == []
    assert min(answers.count, reviews.count) > 20
    assert replicas.holder() == "three"


SELECTOR = {"labelSelector": "scaledobject.keda.sh/name=app"}
DRY_RUN = {"dryRun": "All"}
MERGE = {"Content-Type": "application/merge-patch+json"}
CHANGE = {"spec": {"cooldownPeriod": 77}}
