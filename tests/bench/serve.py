"""Serve: external metrics per second, direct and through the aggregator, beside `/version` and the client's ceiling."""

import asyncio
import ssl
import sys
import tempfile
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from keda_py.clock import SystemClock
from keda_py.kube.resources import API_SERVICES, CONFIG_MAPS
from keda_py.localkube.access.certificates import Authority, KeyPair
from keda_py.localkube.access.identity import FRONT_PROXY, load_pair
from tests.bench.lab.figures import Row
from tests.bench.lab.load import Load, ask
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK, start_process, until
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand
from tests.bench.scale import measure_start

CLIENTS = (1, 16)
QUESTION = "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{}?labelSelector=scaledobject.keda.sh/name={}"
VERSION = "/version"
"""What the API server answers itself: beside it, a question shows what the aggregation layer and the operator add."""
_API_SERVICE = "v1beta1.external.metrics.k8s.io"
_AUTHENTICATION = CONFIG_MAPS.named("kube-system", "extension-apiserver-authentication")
_HPA_CONTROLLER = {
    "X-Remote-User": "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
    "X-Remote-Group": "system:authenticated",
}
_TRUST_SECONDS = 2.0
"""The operator watches whom to trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where to ask, and as whom."""

    url: str
    trust: ssl.SSLContext
    headers: Mapping[str, str] = field(default_factory=dict)


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One row for each way and number of clients."""
    async with build_stand(options) as stand:
        await measure_start(stand, options, say)
        say("the client's ceiling: a constant answer")
        ceilings = {clients: await _ceiling(clients, options.load) for clients in CLIENTS}
        questions = [QUESTION.format(NAMESPACE, metric, name) for name, metric in await stand.metric_names()]
        rows: dict[str, object] = {"objects": options.objects}
        through = _aggregated(stand)
        ways = {
            "direct": (await direct(stand), questions),
            "aggregated": (through, questions),
            "version": (through, [VERSION]),
        }
        for name, (way, asked) in ways.items():
            urls = [way.url + question for question in asked]
            for clients in CLIENTS:
                say(f"{name}, {clients} at once")
                load = await ask(urls, way.trust, clients, options.load, stand.operator, way.headers)
                rows[f"{name}_{clients}"] = load.row(ceilings[clients])
        yield rows


async def _ceiling(clients: int, seconds: float) -> Load:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        pid = await start_process(stack, folder / "log", sys.executable, "-m", "tests.bench.lab.constant", str(folder))

        async def listens() -> bool:
            return (folder / "port").exists() and (folder / "port").read_text() != ""

        await until(listens, "the constant server")
        url = f"https://{LOOPBACK}:{(folder / 'port').read_text()}/"
        return await ask([url], ssl.create_default_context(cafile=folder / "ca.pem"), clients, seconds, pid)


async def direct(stand: Stand) -> Way:
    """The operator's own port, as the aggregation layer asks for the HPA controller: by word of a front proxy.

    The cluster's front proxy keeps its key to itself, so the bench has another one trusted beside it.
    """
    service = await stand.client.get(API_SERVICES.named("", _API_SERVICE))
    trust = ssl.create_default_context(cadata=b64decode(service["spec"]["caBundle"]).decode())
    authority = Authority("bench", SystemClock().now())
    live = (await stand.client.get(_AUTHENTICATION))["data"]["requestheader-client-ca-file"]
    both = live + authority.certificate.decode()
    await stand.client.patch(_AUTHENTICATION, {"data": {"requestheader-client-ca-file": both}})
    await asyncio.sleep(_TRUST_SECONDS)
    load_pair(trust, authority.client(FRONT_PROXY))
    return Way(url=f"https://{LOOPBACK}:{stand.secure_port}", trust=trust, headers=_HPA_CONTROLLER)


def _aggregated(stand: Stand) -> Way:
    """Through the API server, with the kubeconfig's client certificate."""
    config: dict[str, Any] = yaml.safe_load(stand.kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    certificate, key = b64decode(user["client-certificate-data"]), b64decode(user["client-key-data"])
    load_pair(trust, KeyPair(certificate=certificate, key=key))
    return Way(url=cluster["server"], trust=trust)
