"""Scale on the messages that a JetStream consumer of NATS has not acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Self

import httpx
from pydantic import model_validator

from keda_py.sdk.advanced import META, ScalerContext, SharingKey, named, sharing_key
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.brokers.jetstream import Consumer, read_client_port, read_consumers, read_server
from scalers.shared.brokers.nats_subjects import subjects
from scalers.shared.http_answer import HttpQuestion, get
from scalers.shared.protocols.listening import Listening, listening

_MOST_SERVERS = 64

Server = tuple[str, str]
"""URL and name."""


class NatsJetstreamMetadata(TriggerMetadata):
    """Keys of `nats-jetstream`."""

    account: Annotated[str, sources(AUTH, META)] = ""
    account_id: Annotated[str, sources(AUTH, META), named("accountID")] = ""
    stream: str
    consumer: str
    lag_threshold: Annotated[int, Target()] = 10
    activation_lag_threshold: Annotated[int, Activation()] = 0
    use_https: bool = False
    nats_server_monitoring_endpoint: Annotated[str, sources(AUTH, META)]

    @model_validator(mode="after")
    def _check_account(self) -> Self:
        if not self.account and not self.account_id:
            raise ValueError("no account name or id given: write account or accountID")
        return self


class NatsJetStreamScaler(Scaler[NatsJetstreamMetadata]):
    """One question for all consumers of an account; in a cluster, the server that leads a consumer is asked."""

    metric_name = "nats-jetstream-{stream}"
    _listening: Listening

    def __init__(self, metadata: NatsJetstreamMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        endpoint = metadata.nats_server_monitoring_endpoint
        scheme = "https" if metadata.use_https else "http"
        self._endpoint = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        self._leader: Server | None = None
        self._subjects, self._known = "", asyncio.Event()

    async def open(self) -> None:
        """Join the shared subscriptions; no request is sent yet."""
        self._listening = await listening(
            self._key("subjects"), subjects(self._client_place, self.context), self.context
        )

    @property
    def batch_key(self) -> SharingKey:
        """Endpoint and account."""
        return self._key("consumers")

    def _key(self, use: str) -> SharingKey:
        account = (self.metadata.account, self.metadata.account_id)
        return sharing_key(self.context.namespace, ("nats-jetstream", use, self._endpoint), *account)

    async def watch(self) -> AsyncIterator[bool]:
        """Yield at messages on the subjects of the consumer, as clients without credentials hear them.

        Which subjects these are is what the first reading finds out.
        """
        await self._known.wait()
        async with aclosing(self._listening.events(self._subjects)) as events:
            async for sentence in events:
                yield sentence

    async def read_batch(self, scalers: "Sequence[Scaler[NatsJetstreamMetadata]]") -> "Sequence[Reading | ScalerError]":
        """Ask once, or once for each server that leads consumers; unknown leaders are searched."""
        ours = [scaler for scaler in scalers if isinstance(scaler, NatsJetStreamScaler)]
        answers: Answers = {}
        # Only the server that leads a consumer knows its true counts, so the leader is remembered and asked directly.
        # It changes at each election, and then all servers of the cluster are asked which consumers they lead.
        lost: list[NatsJetStreamScaler] = []
        for leader in dict.fromkeys(scaler._leader for scaler in ours if scaler._leader):
            lost += await self._ask_leader(leader, [scaler for scaler in ours if scaler._leader == leader], answers)
        if lost:
            await self._search(lost, answers)
        if unknown := [scaler for scaler in ours if scaler not in answers]:
            await self._ask_endpoint(unknown, answers)
        return [answers[scaler] for scaler in ours]

    async def _ask_leader(
        self, leader: Server, scalers: "list[NatsJetStreamScaler]", answers: "Answers"
    ) -> "list[NatsJetStreamScaler]":
        """Return the triggers whose consumer this server no longer leads, as a server of the cluster says."""
        try:
            clustered, found = await self._consumers(leader[0], scalers)
        except ScalerError:
            clustered, found = False, [None] * len(scalers)
        for scaler, consumer in zip(scalers, found, strict=True):
            if consumer is not None and consumer[1] == leader[1]:
                answers[scaler] = scaler._reading(consumer)
            else:
                scaler._leader = None
        return [scaler for scaler in scalers if clustered and scaler not in answers]

    async def _ask_endpoint(self, scalers: "list[NatsJetStreamScaler]", answers: "Answers") -> None:
        clustered, found = await self._consumers(self._endpoint, scalers)
        if clustered:
            await self._search(scalers, answers)
            return
        for scaler, consumer in zip(scalers, found, strict=True):
            metadata = scaler.metadata
            missing = ScalerError(f'consumer "{metadata.consumer}" not found in stream "{metadata.stream}"')
            answers[scaler] = missing if consumer is None else scaler._reading(consumer)

    async def _search(self, scalers: "list[NatsJetStreamScaler]", answers: "Answers") -> None:
        """Ask one server after the other which consumers it leads."""
        for url, known_name in await self._servers():
            left = [scaler for scaler in scalers if scaler not in answers]
            if not left:
                return
            name = known_name or (await self._server(url))[0]
            _, found = await self._consumers(url, left)
            for scaler, consumer in zip(left, found, strict=True):
                if consumer is not None and consumer[1] == name:
                    scaler._leader, answers[scaler] = (url, name), scaler._reading(consumer)
        for scaler in scalers:
            answers.setdefault(scaler, ScalerError(f"leader node not found for consumer {scaler.metadata.consumer}"))

    def _reading(self, consumer: Consumer) -> Reading:
        waiting, _, subjects = consumer
        if subjects:
            self._subjects = " ".join(subjects)
            self._known.set()
        return Reading(value=float(waiting))

    async def _client_place(self) -> tuple[str, int]:
        """Return the client port of the monitoring port's host."""
        body = await self._ask(f"{self._endpoint}/varz", {})
        return httpx.URL(self._endpoint).host, await self.context.parse(
            read_client_port, body, inline_bytes=INLINE_BYTES
        )

    async def _servers(self) -> list[Server]:
        """List the addresses announced to clients, else those of the cluster, which are named as their hosts."""
        _, client_urls, cluster_urls = await self._server(self._endpoint)
        urls = [(self._beside(url), "") for url in client_urls]
        urls = urls or [(self._beside(url), url.partition(".")[0]) for url in cluster_urls]
        return urls[:_MOST_SERVERS]

    def _beside(self, address: str) -> str:
        """Address of another server's monitoring, whose port is the same on all."""
        try:
            return str(httpx.URL(self._endpoint).copy_with(host=address.rpartition(":")[0].strip("[]") or address))
        except httpx.InvalidURL:
            raise ScalerError("the server names another one with an invalid address") from None

    async def _server(self, url: str) -> tuple[str, list[str], list[str]]:
        body = await self._ask(f"{url}/varz", {})
        return await self.context.parse(read_server, body, inline_bytes=INLINE_BYTES)

    async def _consumers(self, url: str, of: "list[NatsJetStreamScaler]") -> tuple[bool, list[Consumer | None]]:
        account, account_id = self.metadata.account, self.metadata.account_id or self.metadata.account
        body = await self._ask(f"{url}/jsz", {"acc": account_id, "consumers": "true", "config": "true"})
        wanted = [(scaler.metadata.stream, scaler.metadata.consumer) for scaler in of]
        return await self.context.parse(read_consumers, body, account, account_id, wanted, inline_bytes=INLINE_BYTES)

    async def _ask(self, url: str, parameters: dict[str, str]) -> bytes:
        answer = await get(self.context, HttpQuestion(url=url, parameters=parameters))
        if not answer.is_success:
            raise ScalerError(f"nats monitoring {url}: status {answer.status_code}")
        return answer.content


Answers = dict[NatsJetStreamScaler, Reading | ScalerError]
