"""The query that the documentation gives for sessions of exec and port-forward, answered by a real Prometheus.

It scrapes what such an installation has: counters made of the audit log, kube-state-metrics, and an API server, whose
own series (Kubernetes 1.36, metrics reference) do not name the namespace.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import yaml
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.errors import ScalerError
from keda_py.operator.environments.known.sessions import SessionSource
from tests.http_server import HttpServer
from tests.places import ROOT
from tests.servers import free_port, prometheus_command, running, wait_ready
from tests.waiting import eventually

PAGE = ROOT / "docs/pages/how-to/delete-namespaces.md"
LOOKS_BACK, LOOKS_BACK_SECONDS = "10m", "600"
NAMESPACES = ("default", "shop", "blog")
API_SERVER = """\
# HELP apiserver_longrunning_requests [STABLE] Gauge of all active long-running apiserver requests.
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="exec",verb="CONNECT",version="v1"} 1
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="portforward",verb="CONNECT",version="v1"} 0
# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="101",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="exec",verb="CONNECT",version="v1"} 7
"""


def documented(seconds: int = int(LOOKS_BACK_SECONDS)) -> str:
    """The query of the page, looking back so many seconds."""
    blocks = (part.partition("```")[0] for part in PAGE.read_text().split("```yaml\n")[1:])
    (block,) = (one for one in blocks if "idleness" in one)
    query = str(yaml.safe_load(block)["environments"]["idleness"]["query"])
    assert LOOKS_BACK in query
    return query.replace(LOOKS_BACK, f"{seconds}s").replace(LOOKS_BACK_SECONDS, str(seconds))


@dataclass
class AuditLog:
    """Counters by namespace and subresource, as a collector makes them of the audit log: in its memory."""

    sessions: dict[tuple[str, str], int] = field(default_factory=dict)
    busy: tuple[str, str] | None = None
    """A namespace and subresource with another session at each scrape."""
    began: float = 0.0
    broken: bool = False

    async def answer(self, request: web.Request) -> web.Response:
        """The page that is scraped."""
        if self.busy is not None:
            self.begin(*self.busy)
        lines = [
            f'audit_sessions_total{{namespace="{namespace}",subresource="{subresource}"}} {count}'
            for (namespace, subresource), count in self.sessions.items()
        ]
        return web.Response(
            status=500 if self.broken else 200,
            text="\n".join([f"process_start_time_seconds {self.began}", *lines, ""]),
        )

    def begin(self, namespace: str, subresource: str) -> None:
        """Count one session more."""
        key = (namespace, subresource)
        self.sessions[key] = self.sessions.get(key, 0) + 1

    def restart(self, at: float) -> None:
        """Forget all that was counted."""
        self.sessions.clear()
        self.busy, self.began = None, at


@dataclass
class Installation:
    """A Prometheus with its targets."""

    url: str
    http: httpx.AsyncClient
    audit: AuditLog

    async def ask(self, query: str) -> Mapping[str, bool]:
        return await SessionSource(url=self.url, query=query).ask(self.http)

    async def until(self, wanted: Mapping[str, bool | None], seconds: int = int(LOOKS_BACK_SECONDS)) -> None:
        """Wait until the documented query tells this of namespaces; None: nothing, so they are unknown."""

        async def look() -> bool:
            found = await self.ask(documented(seconds))
            return {name: found.get(name) for name in wanted} == wanted

        await eventually(look)


async def start(stack: AsyncExitStack, folder: Path, server: HttpServer, **more: object) -> Installation:
    """A Prometheus that scrapes twice a second; `more` is configuration of its own."""
    now, audit = SystemClock().now().timestamp(), AuditLog()
    audit.began = now - 7 * 86_400
    server.answers["/audit"] = audit.answer
    server.answers["/apiserver"] = API_SERVER
    server.answers["/kube-state-metrics"] = "".join(
        f'kube_namespace_created{{namespace="{name}"}} 1.7e9\n' for name in NAMESPACES
    )
    jobs = [
        {"job_name": name, "metrics_path": f"/{name}", "honor_labels": True, "static_configs": [{"targets": [target]}]}
        for name in ("audit", "apiserver", "kube-state-metrics")
        for target in (server.url.removeprefix("http://"),)
    ]
    scraping = {"scrape_interval": "500ms", "scrape_timeout": "500ms"}
    port = free_port()
    (folder / "prometheus.yml").write_text(yaml.safe_dump({"global": scraping, "scrape_configs": jobs, **more}))
    stack.enter_context(running(prometheus_command(port, folder), port, folder / "log"))
    wait_ready(f"http://127.0.0.1:{port}/-/ready")
    http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
    return Installation(f"http://127.0.0.1:{port}", http, audit)


@pytest.fixture
async def installed(tmp_path: Path, server: HttpServer) -> AsyncIterator[Installation]:
    async with AsyncExitStack() as stack:
        yield await start(stack, tmp_path, server)


async def test_the_first_session_ever_of_a_namespace_is_use_and_it_ends(installed: Installation) -> None:
    """Its counter appears with 1: it has not increased."""
    audit = installed.audit
    await installed.until({"default": False, "shop": False, "blog": False})
    audit.begin("shop", "exec")
    await installed.until({"default": False, "shop": True, "blog": False})
    audit.begin("blog", "portforward")
    await installed.until({"default": False, "shop": True, "blog": True})
    await installed.until({"default": False, "shop": False, "blog": False}, seconds=3)
    audit.busy = ("shop", "exec")  # now it is known, and increases
    await installed.until({"shop": True, "blog": False}, seconds=3)


async def test_while_the_counters_have_just_begun_anew_a_quiet_namespace_is_not_known(installed: Installation) -> None:
    """A session before the restart may not have been scraped, and a counter of 1 that begins anew is 1 again."""
    await installed.until({"default": False})
    installed.audit.begin("shop", "exec")
    await installed.until({"shop": True, "default": False})
    installed.audit.restart(SystemClock().now().timestamp())
    await installed.until({"default": None, "blog": None})
    installed.audit.begin("shop", "exec")
    await installed.until({"shop": True, "default": None})


async def test_without_the_audit_log_no_namespace_is_known_to_be_quiet(installed: Installation) -> None:
    await installed.until({"default": False})
    installed.audit.broken = True
    await installed.until({"default": None, "shop": None, "blog": None})
    installed.audit.broken = False
    await installed.until({"default": False})


async def test_series_of_the_api_server_are_refused_since_they_name_no_namespace(installed: Installation) -> None:
    query = 'sum by (namespace) (apiserver_longrunning_requests{subresource=~"exec|attach|portforward"})'

    async def refused() -> str:
        try:
            await installed.ask(query)
        except ScalerError as error:
            return str(error)
        return ""  # nothing is scraped yet

    assert "no label namespace" in await eventually(refused)


async def test_an_answer_with_a_warning_is_not_complete(tmp_path: Path, server: HttpServer) -> None:
    """A part of the series could not be read, and those that are missing would be taken for no use."""
    away = [{"url": f"http://127.0.0.1:{free_port()}/read", "read_recent": True}]
    async with AsyncExitStack() as stack:
        installed = await start(stack, tmp_path, server, remote_read=away)
        with pytest.raises(ScalerError, match="is not complete: .*remote"):
            await installed.ask(documented())
