"""kubernetes_asyncio without its models: a working client, everything else on demand, and the fallback."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keda_py.kube.resources import DEPLOYMENTS
from tests.kube.faulty_server import FaultyServer, says, thing

WEB = DEPLOYMENTS.named("ns", "web")
MODELS = "kubernetes_asyncio.client.models.v1_pod"

ASK = """
import asyncio, json, sys
from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS

async def ask():
    async with KubeClient(SystemClock(), sys.argv[1]) as client:
        found = await client.get(DEPLOYMENTS.named("ns", "web"))
    print(json.dumps([found["metadata"]["name"], "kubernetes_asyncio.client.models.v1_pod" in sys.modules]))

asyncio.run(ask())
"""
LOGGED = "import logging; logging.basicConfig(level=logging.INFO, format='%(message)s %(reason)s')\n"
WHOLE = "import kubernetes_asyncio\n"
ODD = """
import sys

class Moved:
    def find_spec(self, name, path, target=None):
        if name == "kubernetes_asyncio.config.kube_config":
            sys.meta_path.remove(self)
            raise LookupError("moved")

sys.meta_path.insert(0, Moved())
"""


async def run(script: str, *arguments: str, first_on_path: Sequence[Path] = ()) -> tuple[Any, str]:
    """Run code in a fresh interpreter; return what it printed as JSON, and its log."""
    path = os.pathsep.join(map(str, [*first_on_path, Path.cwd()]))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *arguments, env={**os.environ, "PYTHONPATH": path}, stdout=-1, stderr=-1
    )
    out, log = await process.communicate()
    assert process.returncode == 0, log.decode()
    return json.loads(out), log.decode()


async def test_a_client_works_without_the_models(server: FaultyServer, kubeconfig: str) -> None:
    server.answer(f"GET {WEB.path}", says(thing("web", 7)))
    (name, with_models), log = await run(LOGGED + ASK, kubeconfig)
    assert (name, with_models, log) == ("web", False, "")


async def test_a_client_works_on_the_library_imported_whole(server: FaultyServer, kubeconfig: str) -> None:
    server.answer(f"GET {WEB.path}", says(thing("web", 7)))
    (name, with_models), log = await run(LOGGED + WHOLE + ASK, kubeconfig)
    assert (name, with_models, log) == ("web", True, "")


async def test_a_version_that_was_not_tested_is_imported_whole_and_says_so(
    server: FaultyServer, kubeconfig: str, tmp_path: Path
) -> None:
    later = tmp_path / "kubernetes_asyncio-99.1.0.dist-info"
    later.mkdir()
    (later / "METADATA").write_text("Metadata-Version: 2.1\nName: kubernetes-asyncio\nVersion: 99.1.0\n")
    server.answer(f"GET {WEB.path}", says(thing("web", 7)))
    (name, with_models), log = await run(LOGGED + ASK, kubeconfig, first_on_path=[tmp_path])
    assert (name, with_models) == ("web", True)
    assert log == "kubernetes_asyncio is imported whole version 99.1.0 is not tested\n"


async def test_a_library_laid_out_otherwise_is_imported_whole_and_says_so(
    server: FaultyServer, kubeconfig: str
) -> None:
    server.answer(f"GET {WEB.path}", says(thing("web", 7)))
    (name, with_models), log = await run(LOGGED + ODD + ASK, kubeconfig)
    assert (name, with_models) == ("web", True)
    first, *_, last = log.splitlines()
    assert first == "kubernetes_asyncio is imported whole its layout is not known"
    assert last == "LookupError: moved"


async def test_the_operator_runs_without_the_embedded_cluster_the_demo_and_validate() -> None:
    found, _ = await run(
        "import json, sys, keda_py.cli.operator, keda_py.operator.app\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('keda_py.')}\n"
        "print(json.dumps(sorted(rooms & {'localkube', 'demo', 'validation', 'migration', 'explanation'})))\n"
    )
    assert found == []


async def test_a_plug_in_that_uses_models_and_api_classes_finds_them() -> None:
    found, _ = await run(
        "import json, keda_py.kube.config as ours, sys\n"
        f"before = {MODELS!r} in sys.modules\n"
        "import kubernetes_asyncio as library\n"
        "from kubernetes_asyncio import client, watch\n"
        "from kubernetes_asyncio.client import ApiClient, CoreV1Api, V1Pod, models\n"
        "from kubernetes_asyncio.client.api_client import ApiClient as same\n"
        "print(json.dumps([before, V1Pod is models.V1Pod, CoreV1Api.__name__, watch.Watch.__name__, ApiClient is same,\n"
        "    client is library.client, client.Configuration is ours.Configuration, library.__version__ != '']))\n"
    )
    assert found == [False, True, "CoreV1Api", "Watch", True, True, True, True]
