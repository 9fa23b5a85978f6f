"""Serve: external metrics per second, direct and through the embedded aggregator, beside the client's own ceiling."""

import ssl
import sys
import tempfile
from base64 import b64decode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import yaml

from keda_py.kube.resources import API_SERVICES
from tests.bench.figures import Row
from tests.bench.load import Load, ask
from tests.bench.options import Options, Say
from tests.bench.scale import measure_start
from tests.bench.world import LOOPBACK, NAMESPACE, World, build_world, start_process, until

CLIENTS = (1, 16)
_QUESTION = "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{}?labelSelector=scaledobject.keda.sh/name={}"
_API_SERVICE = "v1beta1.external.metrics.k8s.io"


async def run(options: Options, say: Say) -> Row:
    """One row for each way and number of clients."""
    async with build_world() as world:
        await measure_start(world, options, say)
        say("the client's ceiling: a constant answer")
        ceilings = {clients: await _ceiling(clients, options.load) for clients in CLIENTS}
        questions = [_QUESTION.format(NAMESPACE, metric, name) for name, metric in await world.metric_names()]
        rows: dict[str, object] = {"objects": options.objects}
        for way, (url, trust) in {"direct": await _direct(world), "aggregated": _aggregated(world)}.items():
            for clients in CLIENTS:
                say(f"{way}, {clients} at once")
                load = await ask([url + one for one in questions], trust, clients, options.load, world.operator)
                rows[f"{way}_{clients}"] = load.row(ceilings[clients])
        return rows


async def _ceiling(clients: int, seconds: float) -> Load:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        pid = await start_process(stack, folder / "log", sys.executable, "-m", "tests.bench.constant", str(folder))

        async def listens() -> bool:
            return (folder / "port").exists() and (folder / "port").read_text() != ""

        await until(listens, "the constant server")
        url = f"https://{LOOPBACK}:{(folder / 'port').read_text()}/"
        return await ask([url], ssl.create_default_context(cafile=folder / "ca.pem"), clients, seconds, pid)


async def _direct(world: World) -> tuple[str, ssl.SSLContext]:
    """The operator's own port, trusted as the aggregation layer trusts it, by the APIService's CA; by certificate."""
    service = await world.client.get(API_SERVICES.named("", _API_SERVICE))
    trust = ssl.create_default_context(cadata=b64decode(service["spec"]["caBundle"]).decode())
    _identify(trust, _config(world)["users"][0]["user"])
    return f"https://{LOOPBACK}:{world.secure_port}", trust


def _aggregated(world: World) -> tuple[str, ssl.SSLContext]:
    """Through the API server, as the HPA controller asks, with the kubeconfig's client certificate."""
    config = _config(world)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    _identify(trust, user)
    return cluster["server"], trust


def _config(world: World) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(world.kubeconfig.read_text())
    return config


def _identify(trust: ssl.SSLContext, user: dict[str, str]) -> None:
    """Show the kubeconfig's client certificate."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as pair:
        pair.write(b64decode(user["client-certificate-data"]) + b64decode(user["client-key-data"]))
        pair.flush()
        trust.load_cert_chain(pair.name)
