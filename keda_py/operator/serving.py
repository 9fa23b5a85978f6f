"""The ports of one process: external metrics and admission over TLS, Prometheus text, and the kubelet's probes.

Use as an async context manager; `ready` becomes True once the caches have synced, `leave` makes readyz fail at once
while everything goes on being served.
"""

import ssl
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from aiohttp import web

from keda_py.clock import Clock, SystemClock
from keda_py.kube.client import KubeClient
from keda_py.metrics.certificates import ServingCertificate, make_certificate
from keda_py.metrics.prometheus import MetricsPage, OperatorMetrics
from keda_py.metrics.query import Query
from keda_py.metrics.server import AllowAll, MetricsServer
from keda_py.operator.admission import AdmissionServer
from keda_py.operator.probes import probe_app
from keda_py.operator.registration import register_metrics, register_webhook
from keda_py.setting_values import Address
from keda_py.settings import Settings

TLS_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}


def _page_app(metrics: OperatorMetrics) -> web.Application:
    app = web.Application()
    app.router.add_get("/metrics", MetricsPage(metrics).answer)
    return app


class Serving:
    """Ports and certificate; what the answers are made of is given."""

    def __init__(
        self, settings: Settings, clock: Clock, query: Query, instruments: OperatorMetrics, admission: AdmissionServer
    ) -> None:
        self._settings, self._instruments, self._admission = settings, instruments, admission
        self._certificate = _certificate(settings)
        self._metrics = MetricsServer(query=query, clock=clock, authenticator=AllowAll(), not_ready=self._why_not_ready)
        self._stack = AsyncExitStack()
        self.ready = False
        self._leaving = False
        self.secure_port = 0

    async def __aenter__(self) -> Self:
        """Open every port. Raises OSError when one is taken."""
        serving = self._settings.serving
        self._stack.push_async_callback(self._metrics.aclose)
        minimum = TLS_VERSIONS.get(self._settings.certificates.min_tls_version, ssl.TLSVersion.TLSv1_2)
        tls = self._certificate.tls(minimum)
        self.secure_port = await self._metrics.start(serving.bind_address or "", serving.secure_port, tls)
        if serving.webhook_port:
            self._stack.push_async_callback(self._admission.aclose)
            await self._admission.start(serving.bind_address or "", serving.webhook_port, tls)
        if serving.metrics is not None and serving.prometheus:
            await self._serve(_page_app(self._instruments), serving.metrics)
        if serving.health is not None:
            await self._serve(probe_app(lambda: not self._why_not_ready()), serving.health)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every port."""
        await self._stack.aclose()

    def leave(self) -> None:
        """Not ready any more; what is asked is still answered."""
        self._leaving = True

    async def register(self, client: KubeClient) -> None:
        """Write the APIService and the webhook configuration that lead to `--register URL`. Raises KubeError."""
        certificates, url = self._settings.certificates, self._settings.serving.register
        if not self._settings.serving.secure_port:
            url = f"{url.rstrip('/')}:{self.secure_port}"  # a free port was taken; only we know which
        await register_metrics(
            client,
            namespace=self._settings.cluster.pod_namespace,
            service=certificates.metrics_service,
            url=url,
            ca=self._certificate.ca,
        )
        if self._settings.serving.webhook_port:
            address = f"https://{_host_of(url)}:{self._settings.serving.webhook_port}"
            await register_webhook(client, name=certificates.webhook_name, url=address, ca=self._certificate.ca)

    async def _serve(self, app: web.Application, address: Address) -> None:
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        self._stack.push_async_callback(runner.cleanup)
        await runner.setup()
        await web.TCPSite(runner, address.host or None, address.port).start()

    def _why_not_ready(self) -> str:
        if self._leaving:
            return "shutting down"
        return "" if self.ready else "caches have not synced"


def _host_of(url: str) -> str:
    host = urlsplit(url).hostname or ""
    return f"[{host}]" if ":" in host else host


def _certificate(settings: Settings) -> ServingCertificate:
    """Made at start, for the Services' names and for the host that --register names."""
    namespace, names = settings.cluster.pod_namespace, list[str]()
    for service in (settings.certificates.metrics_service, settings.certificates.webhook_service):
        names += [f"{service}.{namespace}.svc", f"{service}.{namespace}", service]
        names.append(f"{service}.{namespace}.svc.{settings.cluster.domain}")
    host = urlsplit(settings.serving.register).hostname
    # TLS dates are real time, whatever the clock of decisions says.
    return make_certificate([*names, *([host] if host else []), "localhost", "127.0.0.1"], SystemClock().now())
