"""Cluster that enforces its roles, and a metrics server that authorises its callers by it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from keda_py.clock import SystemClock
from keda_py.core.evaluation import MetricValue
from keda_py.external_metrics.metric_values import ExternalMetrics
from keda_py.external_metrics.routing import Routing, is_passed_on
from keda_py.external_metrics.server import CachedStages, MetricsServer
from keda_py.kube.client import Exchange, KubeClient
from keda_py.localkube.access.certificates import Authority, KeyPair
from keda_py.localkube.access.identity import load_pair
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.serving.authentication import Authentication
from keda_py.serving.authentication_config import AuthenticationConfig
from keda_py.serving.authorisation import Authorisation
from keda_py.serving.certificates import make_certificate
from keda_py.serving.reviews import AccessReviews, TokenReviews
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.serving_certificate import ServingCertificate
from tests.builders import a_namespace
from tests.kubeconfigs import token_kubeconfig
from tests.stages import stages
from tests.waiting import PAUSE, connections_closed, eventually

LOOPBACK = "127.0.0.1"
ROOT = "/apis/external.metrics.k8s.io/v1beta1"
QUESTION = f"{ROOT}/namespaces/shop/s0-x?labelSelector=scaledobject.keda.sh%2Fname%3Dapp"
OPERATOR = User(name="system:serviceaccount:keda:keda-operator", groups=("system:serviceaccounts",))
HPA = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
RBAC = "rbac.authorization.k8s.io"


class AlwaysSeven:
    """Source of values that is always 7."""

    def answer_at_once(self, namespace: str, metric: str, name: str) -> tuple[MetricValue, ...]:
        return (MetricValue(name=metric, milli=7000),)

    async def answer(self, namespace: str, metric: str, name: str) -> tuple[MetricValue, ...]:
        return self.answer_at_once(namespace, metric, name)


@dataclass
class ServedMetrics:
    """Metrics server that the cluster's RBAC protects, and its requests to the API server."""

    cluster: LocalCluster
    port: int
    certificate: ServingCertificate
    tls: ServerTls
    config: AuthenticationConfig
    exchanges: list[Exchange] = field(default_factory=list)
    _contexts: dict[tuple[bytes, KeyPair | None], ssl.SSLContext] = field(default_factory=dict)

    def reviews(self, resource: str) -> int:
        return sum(exchange.resource == resource for exchange in self.exchanges)

    def context(self, pair: KeyPair | None = None) -> ssl.SSLContext:
        """Make the TLS context of a client with that certificate; cached, because making one takes longer than a
        request.
        """
        key = self.certificate.ca, pair
        if key not in self._contexts:
            self._contexts[key] = ssl.create_default_context(cadata=self.certificate.ca.decode())
            if pair is not None:
                load_pair(self._contexts[key], pair)
        return self._contexts[key]

    async def get(
        self, path: str = QUESTION, pair: KeyPair | None = None, headers: Any = None
    ) -> tuple[int, dict[str, Any]]:
        connector = aiohttp.TCPConnector(ssl=self.context(pair))
        try:
            async with (
                aiohttp.ClientSession(connector=connector, headers=headers) as session,
                session.get(f"https://localhost:{self.port}{path}") as answer,
            ):
                return answer.status, await answer.json(content_type=None)
        finally:
            await asyncio.sleep(0)  # the TLS connection closes in the next turn of the loop

    async def as_user(self, user: str, *groups: str, path: str = QUESTION) -> tuple[int, dict[str, Any]]:
        """Make the headers by which the aggregator passes on a user."""
        headers = [("X-Remote-User", user), *(("X-Remote-Group", group) for group in groups)]
        return await self.get(path, self.cluster.identity.front_proxy, headers)


async def accepted() -> None:
    """Wait until no connection is being accepted or refused: each of those is a task of the loop."""
    await eventually(lambda: not any("LimitedPort._open" in repr(task) for task in asyncio.all_tasks()), 5)
    await asyncio.sleep(PAUSE)


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(SystemClock(), ClusterOptions(enforce_rbac=True)) as running:
        await running.apply(
            [
                a_namespace("keda"),
                a_namespace("shop"),
                bound("ClusterRole", "system:auth-delegator", OPERATOR.name),
                bound("Role", "extension-apiserver-authentication-reader", OPERATOR.name, "kube-system"),
            ]
        )
        yield running


def bound(kind: str, role: str, user: str, namespace: str = "") -> dict[str, Any]:
    """Make a binding of `role` to a user."""
    metadata = {"name": f"{role}-{user.rpartition(':')[2]}", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }


def role(name: str, *rules: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    """Make a Role, or a ClusterRole without a namespace."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


@asynccontextmanager
async def client_of(cluster: LocalCluster, folder: Path, observe: Any = lambda _: None) -> AsyncIterator[KubeClient]:
    """Make a client with the operator's ServiceAccount."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(token_kubeconfig(cluster, OPERATOR))
    async with KubeClient(SystemClock(), str(kubeconfig), observe=observe) as client:
        yield client


@pytest.fixture
async def served(cluster: LocalCluster, tmp_path: Path) -> AsyncIterator[ServedMetrics]:
    exchanges: list[Exchange] = []
    async with client_of(cluster, tmp_path, exchanges.append) as client, asyncio.TaskGroup() as tasks:
        tls, certificate = ServerTls(), make_certificate(["localhost", LOOPBACK], SystemClock().now())
        tls.show(certificate)
        config = AuthenticationConfig(client, tls)
        running = tasks.create_task(config.run())
        authentication, reviews = Authentication(config, TokenReviews(client), SystemClock()), AccessReviews(client)
        authorise = Authorisation(reviews, is_passed_on).check
        metrics = ExternalMetrics(AlwaysSeven(), SystemClock())
        at_once = CachedStages(
            authenticate=authentication.certified_caller,
            is_allowed=reviews.is_known_to_be_allowed,
            routes=Routing(answers=lambda _: True).routes,
            answer=metrics.answer_at_once,
        )
        server = MetricsServer(stages(authentication.caller, authorise, metrics.answer, at_once), lambda: "")
        port = await server.start(LOOPBACK, 0, tls.context(asks_clients=True))
        await eventually(lambda: config.has_synced)
        yield ServedMetrics(cluster, port, certificate, tls, config, exchanges)
        await accepted()
        await server.aclose()
        running.cancel()
        await connections_closed()


@pytest.fixture(scope="session")
def alien() -> Authority:
    return Authority("front-proxy-ca", SystemClock().now())
