"""The evening of `keda-py demo --environments`: a person opens the URL of what sleeps, and a real waker answers.

The waker is that of `keda-py waker`, in this process, and asks the operator over HTTPS. The person is a client that
finds the way to a Service as a node does, by its EndpointSlices. Both do their I/O in real time, while the cluster's
time stands: each act of a person waits until what it asked for is stored, or answered.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import aiohttp

from keda_py.apis.foreign import map_at, maps_at
from keda_py.clock import Clock, SystemClock
from keda_py.core.waking.rules import SERVICE_LABEL
from keda_py.demo.play import Manifest, Stage
from keda_py.errors import KedaPyError
from keda_py.kube.resources import ENDPOINT_SLICES, OVERRIDES, Selection
from keda_py.localkube.store.subscriptions import Event
from keda_py.serving.certificates import make_certificate
from keda_py.settings.waker import WakerClusterSettings, WakerServingSettings, WakerSettings
from keda_py.terminal.times import spoken_duration
from keda_py.waker.app import run_waker

OWN_NAMESPACE, WAKER, POD = "keda", "keda-waker", "keda-waker-0"
LOOPBACK = "127.0.0.1"
PERSON = "visitor"
REAL_SECONDS = 30.0
"""Real time for an answer; a busy machine needs one second."""
_BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
_NAVIGATION = {**_BROWSER, "Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
_STATUS = '<p role="status">'


def write_certificate(folder: Path) -> None:
    """Write the operator's certificate, and the authority by which the waker knows it."""
    made = make_certificate(("localhost", LOOPBACK), SystemClock().now())
    for name, content in (("tls.crt", made.certificate), ("tls.key", made.key), ("ca.crt", made.ca)):
        (folder / name).write_bytes(content)


def waker_address() -> str:
    """Return an address of this machine for the waker's ports, on Linux one that no other demo uses."""
    own = f"127.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}.{1 + os.getpid() // 12_500 % 250}"
    with socket.socket() as one:
        try:
            one.bind((own, 0))
        except OSError:  # macOS has 127.0.0.1 alone
            return LOOPBACK
    return own


def waker_manifests(address: str) -> list[Manifest]:
    """Return the operator's namespace, and the slice by which the operator knows the waker."""
    endpoint = {
        "addresses": [address],
        "conditions": {"ready": True},
        "targetRef": {"kind": "Pod", "namespace": OWN_NAMESPACE, "name": POD},
    }
    labels = {SERVICE_LABEL: WAKER}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN_NAMESPACE}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{WAKER}-0", "namespace": OWN_NAMESPACE, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [endpoint],
            "ports": [{"name": "health", "port": 8081}],
        },
    ]


@asynccontextmanager
async def running_waker(clock: Clock, kubeconfig: Path, operator_port: int, folder: Path) -> AsyncIterator[None]:
    """Run a waker as `keda-py waker` does; `folder` has the operator's authority."""
    address = waker_address()
    settings = WakerSettings(
        cluster=WakerClusterSettings(
            kubeconfig=str(kubeconfig),
            pod_name=POD,
            pod_ip=address,
            operator_url=f"https://{LOOPBACK}:{operator_port}",
            operator_ca_file=str(folder / "ca.crt"),
        ),
        serving=WakerServingSettings(bind_address=address, metrics=None, health=None),
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run_waker(settings, clock, asyncio.Event()))
        yield
        running.cancel()


@dataclass(slots=True)
class Visitor:
    """A person with a browser. Each act raises KedaPyError if the answer is not what a person would be glad of."""

    service: str
    _waiting: "asyncio.Task[str] | None" = None
    _since: datetime | None = None

    async def open_url(self, stage: Stage) -> None:
        """Open the URL: the browser gets a page at once, and another request of the page waits for its answer."""
        asked = asyncio.Event()

        def hear(event: Event) -> None:
            if event.resource.kind == OVERRIDES.kind and event.type == "ADDED":
                asked.set()

        stage.store.listen(hear)
        url = await self._see_page(stage, f"opens http://{self.service} and sees a page")
        self._since = stage.clock.now()
        self._waiting = asyncio.get_running_loop().create_task(_answer(url))
        try:
            await asyncio.wait_for(asked.wait(), REAL_SECONDS)
        except TimeoutError:
            raise KedaPyError("no Override followed from the request") from None

    async def reload(self, stage: Stage) -> None:
        """Load the page again, and tell what it says of the wake."""
        await self._see_page(stage, "sees the page reload")

    async def see_answer(self, stage: Stage) -> None:
        """Wait for the answer to the request that waits."""
        if self._waiting is None or self._since is None:
            raise KedaPyError("no request waits")
        try:
            text = await asyncio.wait_for(self._waiting, REAL_SECONDS)
        except TimeoutError:
            raise KedaPyError("the request that waits got no answer") from None
        waited = spoken_duration(stage.clock.now() - self._since)
        stage.tell(PERSON, f'has the answer to the request that waited, within {waited}: "{text}"')

    async def _see_page(self, stage: Stage, doing: str) -> str:
        url = await self._way(stage)
        status, page = await _get(url, _NAVIGATION)
        if status != 503 or _STATUS not in page:
            raise KedaPyError(f"a browser got {status} instead of the page that tells how far the wake is")
        title, progress = (_between(page, *marks) for marks in (("<title>", "</title>"), (_STATUS, "</p>")))
        stage.tell(PERSON, f'{doing}: "{title}. {progress}"')
        return url

    async def _way(self, stage: Stage) -> str:
        """Return where a node sends connections to the Service: to a ready endpoint of any of its slices."""
        selection = Selection(labels=f"{SERVICE_LABEL}={self.service}")
        for live in await stage.client.list(ENDPOINT_SLICES, stage.namespace, selection):
            for endpoint in maps_at(live, "endpoints"):
                if map_at(endpoint, "conditions").get("ready") is not False:
                    return f"http://{endpoint['addresses'][0]}:{live['ports'][0]['port']}/"
        raise KedaPyError(f"nothing stands behind Service {self.service}: a connection would be refused")


def _between(page: str, begin: str, end: str) -> str:
    return page.partition(begin)[2].partition(end)[0].strip()


async def _answer(url: str) -> str:
    status, text = await _get(url, _BROWSER)
    if status != 200:
        raise KedaPyError(f"the request that waited was answered with {status}")
    return text


async def _get(url: str, headers: dict[str, str]) -> tuple[int, str]:
    timeout = aiohttp.ClientTimeout(total=REAL_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(url, headers=headers) as answer,
        ):
            return answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise KedaPyError(f"no answer from {url}: {type(error).__name__}: {error}") from None
