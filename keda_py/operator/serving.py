"""The ports of one process: external metrics and admission over TLS, Prometheus text, and the kubelet's probes.

Use as an async context manager; `ready` becomes True once the caches have synced, `leave` makes readyz fail at once
while everything goes on being served.
"""

import asyncio
import ipaddress
import socket
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from aiohttp import web

from keda_py.clock import Clock, SystemClock
from keda_py.errors import ConfigError
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.external_metrics.discovery import answer_document
from keda_py.external_metrics.metric_values import ExternalMetrics, Questions
from keda_py.external_metrics.routing import Route, Routing, is_passed_on
from keda_py.external_metrics.server import CachedStages, MetricsServer, Stages
from keda_py.external_metrics.upstream import Delegation
from keda_py.kube.client import KubeClient
from keda_py.operator.admission.match_conditions import knows_match_conditions
from keda_py.operator.admission.reviews import AdmissionServer
from keda_py.operator.certificates import guarded_objects, keep_certificates, peer_name
from keda_py.operator.environments.waking.requests import WakeRequests
from keda_py.operator.explain.insight import Insight
from keda_py.operator.registration import Registration, ensure_namespace
from keda_py.operator.standby.forwarding import Forwarding
from keda_py.operator.standby.rights import Rights
from keda_py.operator.standby.standby_reader import StandbyReader
from keda_py.serving.authentication import Authentication
from keda_py.serving.authentication_config import AuthenticationConfig
from keda_py.serving.authorisation import Authorisation
from keda_py.serving.certificates import read_leaf
from keda_py.serving.https import LimitedServer
from keda_py.serving.peers import Peers
from keda_py.serving.ports.probes import probe_app
from keda_py.serving.ports.table import PortLimits
from keda_py.serving.renewal.ca_bundles import CaBundles
from keda_py.serving.reviews import AccessReviews, TokenReviews
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.statuses import not_found
from keda_py.settings.parsers import Address
from keda_py.settings.settings import Settings
from keda_py.telemetry.page import MetricsPage
from keda_py.telemetry.prometheus import OperatorMetrics
from keda_py.telemetry.question_metrics import CountedQuestions

PLAIN = PortLimits(connections=250)
"""Of the ports of kubelet and Prometheus: fewer ask there, and each once in a while."""


def _page_app(metrics: OperatorMetrics) -> web.Application:
    app = web.Application()
    app.router.add_get("/metrics", MetricsPage(metrics).answer)
    return app


async def _no_wakers(_: AuthorisedRequest) -> ApiResponse:
    raise not_found()


def _export(metrics: OperatorMetrics) -> AbstractAsyncContextManager[None]:
    try:
        from keda_py.telemetry.otel import exporting  # heavy, and optional
    except ModuleNotFoundError as error:
        remedy = "pip install 'keda-py[otel]'"
        raise ConfigError(f"--enable-opentelemetry-metrics: {error.name} is not installed; {remedy}") from None
    return exporting(metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The sources of answers, one for each route of the ports."""

    metrics: Questions
    admission: AdmissionServer
    instruments: OperatorMetrics
    insight: Insight
    elsewhere: Delegation | None
    rights: Rights
    standby_reader: StandbyReader
    wakes: WakeRequests | None
    """None without wakers."""


class Serving:
    """The ports, their certificates and who may ask; `Answers` brings the contents."""

    def __init__(self, settings: Settings, clock: Clock, client: KubeClient, answers: Answers) -> None:
        self._settings, self._client, self._answers = settings, client, answers
        certificates = settings.certificates
        self._tls = ServerTls(certificates.min_tls_version, certificates.ciphers)
        self._tls.subscribe(self._note_certificate)
        self._keep_certificates = keep_certificates(settings, client, self._tls)
        self._authentication = AuthenticationConfig(client, self._tls, certificates.client_ca_file)
        # Certificates expire in real time, whatever the clock of decisions says.
        peers = Peers(self._tls, peer_name(settings), SystemClock())
        self._forwarding = Forwarding(answers.rights.holder, peers, answers.standby_reader.note_question)
        self._metrics = MetricsServer(self._stages(clock, peers), self._why_not_ready)
        self._stack = AsyncExitStack()
        self.ready = False
        self._leaving = False
        self.secure_port = 0

    def _stages(self, clock: Clock, replicas: Peers) -> Stages:
        answers, elsewhere = self._answers, self._answers.elsewhere
        tokens, reviews = TokenReviews(self._client), AccessReviews(self._client)
        authentication = Authentication(self._authentication, tokens, SystemClock(), replicas)
        owns = elsewhere.owns if elsewhere is not None else None
        routes = Routing(answers=answers.rights.answers, owns=owns).routes
        metrics = ExternalMetrics(CountedQuestions(answers.metrics, answers.instruments.questions), clock)
        return Stages(
            authenticate=authentication.caller,
            authorise=Authorisation(reviews, is_passed_on).check,
            routes=routes,
            at_once=CachedStages(
                authenticate=authentication.certified_caller,
                is_allowed=reviews.is_known_to_be_allowed,
                routes=routes,
                answer=metrics.answer_at_once,
            ),
            answers={
                Route.METRIC: metrics.answer,
                Route.INSIGHT: answers.insight.answer,
                Route.DOCUMENT: answer_document,
                Route.HOLDER: self._forwarding.ask,
                Route.WAKE: answers.wakes.answer if answers.wakes is not None else _no_wakers,
                **({Route.UPSTREAM: elsewhere.answer} if elsewhere is not None else {}),
            },
        )

    async def __aenter__(self) -> Self:
        """Open every port, or none: raises OSError when one is taken."""
        try:
            await self._open()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def _open(self) -> None:
        serving = self._settings.serving
        if self._answers.elsewhere is not None:
            self._stack.push_async_callback(self._answers.elsewhere.upstream.aclose)
        self._stack.push_async_callback(self._forwarding.aclose)
        self._stack.push_async_callback(self._metrics.aclose)
        tls = self._tls.context(asks_clients=True)
        self.secure_port = await self._metrics.start(serving.bind_address or "", serving.secure_port, tls)
        if serving.webhook_port:
            self._stack.push_async_callback(self._answers.admission.aclose)
            await self._answers.admission.start(serving.bind_address or "", serving.webhook_port)
        if serving.metrics is not None and serving.prometheus:
            await self._serve(_page_app(self._answers.instruments), serving.metrics)
        if serving.opentelemetry:
            await self._stack.enter_async_context(_export(self._answers.instruments))
        if serving.health is not None:
            await self._serve(probe_app(lambda: not self._why_not_ready()), serving.health)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every port, as `aclose` does."""
        await self.aclose()

    async def aclose(self) -> None:
        """Answer what is on its way, then close every port."""
        await self._stack.aclose()

    @property
    def address(self) -> str:
        """Where other replicas reach the secure port, as "host:port"."""
        serving = self._settings.serving
        host = self._settings.cluster.pod_ip or own_address(serving.bind_address, self._client.url)
        return f"[{host}]:{self.secure_port}" if ":" in host else f"{host}:{self.secure_port}"

    def leave(self) -> None:
        """Not ready any more; what is asked is still answered, once on each connection."""
        self._leaving = True
        self._metrics.leave()
        self._answers.admission.leave()

    async def run(self) -> None:
        """Keep certificates, and who is trusted, up to date; until cancelled."""
        if self._settings.serving.register:  # no other component makes the place where Lease and certificates are kept
            await ensure_namespace(self._client, self._settings.cluster.pod_namespace)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._authentication.run())
            await self._keep_certificates()

    async def guard(self, client: KubeClient) -> None:
        """Keep the objects right that name our authority; until cancelled, and only while we lead."""
        registration = await self._registration(client) if self._settings.serving.register else None
        await CaBundles(client, self._tls, guarded_objects(self._settings, registration)).run()

    async def register(self, client: KubeClient) -> None:
        """Write the APIService and the webhook configuration that lead to `--register URL`, if it is given.

        Raises KubeError.
        """
        if not self._settings.serving.register:
            return
        await self._tls.shown.wait()
        certificate = self._tls.certificate
        assert certificate is not None
        await (await self._registration(client)).write(client, certificate.ca)

    async def _registration(self, client: KubeClient) -> Registration:
        serving, certificates = self._settings.serving, self._settings.certificates
        url, port = serving.register, serving.webhook_port
        if not serving.secure_port:
            url = f"{url.rstrip('/')}:{self.secure_port}"  # a free port was taken; only we know which
        return Registration(
            namespace=self._settings.cluster.pod_namespace,
            service=certificates.metrics_service,
            url=url,
            webhook_name=certificates.webhook_name,
            webhook_url=f"https://{_host_of(url)}:{port}" if port else "",
            has_conditions=bool(port) and await knows_match_conditions(client),
        )

    def _note_certificate(self) -> None:
        certificate = self._tls.certificate
        if certificate is None:
            return
        self._answers.admission.show(certificate)
        leaf = read_leaf(certificate)
        if leaf is not None:
            self._answers.instruments.process.record_certificate(leaf.not_valid_after_utc.timestamp())

    async def _serve(self, app: web.Application, address: Address) -> None:
        server = LimitedServer(app, PLAIN)
        self._stack.push_async_callback(server.aclose)
        await server.start(address.host, address.port, None)

    def _why_not_ready(self) -> str:
        if self._leaving:
            return "shutting down"
        if self._tls.certificate is None:
            return "there is no certificate yet"
        if not self._authentication.has_synced:
            return "who may ask has not been read from kube-system/extension-apiserver-authentication"
        if not self._answers.admission.process.begun.is_set():
            return "the webhook process has not begun"
        return "" if self.ready else "caches have not synced"


def _host_of(url: str) -> str:
    host = urlsplit(url).hostname or ""
    return f"[{host}]" if ":" in host else host


# Where other replicas reach this process, when POD_IP does not say it.


def own_address(bound: str, peer: str) -> str:
    """The address that is listened on; where that is every one, the one from which the host of URL `peer` is reached.

    "" where neither is known; a name is not resolved.
    """
    if bound and not _is_wildcard(bound):
        return bound
    host = urlsplit(peer).hostname or ""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        return _named_address()
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # of a datagram socket: nothing is sent, a route is chosen
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _named_address() -> str:
    """By the machine's own name."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return ""


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
