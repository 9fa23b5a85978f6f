"""Where the scenarios run.

    pytest tests/e2e                                  the embedded cluster and our operator, both as processes
    pytest tests/e2e --kubeconfig FILE                that cluster, CRDs installed, our operator started beside it
    pytest tests/e2e --kubeconfig FILE --running      that cluster and the operator that is there

Nothing is left behind: namespaces, CRDs that were not there before, the registration of external metrics.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES
from tests.builders import a_namespace
from tests.e2e.processes import Operator, Process
from tests.e2e.scene import Scene, clear, kubectl
from tests.e2e.source import Source, serve_source
from tests.programs.client import run

API_SERVICE = "apiservice/v1beta1.external.metrics.k8s.io"
INSIGHT_SERVICE = "apiservice/v1alpha1.insight.keda-py.dev"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", default=None, help="run the e2e scenarios on this cluster")
    parser.addoption("--running", action="store_true", help="use the operator that runs in that cluster already")


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest) -> bool:
    """The operator is somebody else's."""
    return bool(request.config.getoption("--running", default=False))


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster."""
    given = request.config.getoption("--kubeconfig", default=None)
    if given:
        yield Path(given)
        return
    path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    process = Process(["local", "--no-operator", f"--kubeconfig={path}"])
    process.wait_for("embedded cluster is ready")
    yield path
    process.end()


@pytest.fixture(scope="session")
def kubeconfig(cluster: Path, running: bool) -> Iterator[Path]:
    """The kubeconfig of a cluster that knows our kinds."""
    if running:
        yield cluster
        return
    with _definitions(cluster):
        yield cluster


@pytest.fixture(scope="session")
def shared_operator(kubeconfig: Path, running: bool) -> Iterator[Operator | None]:
    """Our operator; None where the one that is there is used."""
    if running:
        yield None
        return
    operator = Operator(kubeconfig)
    operator.start()
    _wait_until_served(kubeconfig)
    yield operator
    operator.end()
    kubectl(kubeconfig, "delete", "--ignore-not-found", API_SERVICE, INSIGHT_SERVICE)
    kubectl(kubeconfig, "delete", "--ignore-not-found", "--wait=false", "namespace", "keda")


@pytest.fixture
def operator(shared_operator: Operator | None, kubeconfig: Path) -> Iterator[Operator]:
    """Our operator, to be ended and started at will; afterwards it runs again as before."""
    if shared_operator is None:
        pytest.skip("--running: the operator belongs to somebody else")
    yield shared_operator
    if not (shared_operator.alive and shared_operator.as_usual):
        shared_operator.end()
        shared_operator.start()
        _wait_until_served(kubeconfig)


@pytest.fixture
async def scene(shared_operator: Operator | None, kubeconfig: Path) -> AsyncIterator[Scene]:
    """A namespace of its own, watched over by an operator."""
    namespace = f"e2e-{uuid4().hex[:8]}"
    async with KubeClient(SystemClock(), str(kubeconfig)) as client:
        await client.create(NAMESPACES, a_namespace(namespace))
        yield Scene(client=client, kubeconfig=kubeconfig, namespace=namespace)
        await clear(client, namespace)


@pytest.fixture
async def source() -> AsyncIterator[Source]:
    async with serve_source() as source:
        yield source


@contextmanager
def _definitions(kubeconfig: Path) -> Iterator[None]:
    """Install the CRDs; remove those again that were not there."""
    before = set(kubectl(kubeconfig, "get", "crds", "-o", "name").split())
    crds = run(["crds"]).stdout
    applied = kubectl(
        kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", "-", "-o", "name", given=crds
    ).split()
    kubectl(kubeconfig, "wait", "--for=condition=Established", "--timeout=60s", *applied)
    yield
    ours = [name for name in applied if name not in before]
    if ours:
        kubectl(kubeconfig, "delete", "--ignore-not-found", "--timeout=60s", *ours)


def _wait_until_served(kubeconfig: Path) -> None:
    kubectl(kubeconfig, "wait", "--for=condition=Available", "--timeout=60s", API_SERVICE)
