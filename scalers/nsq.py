"""Scale on the messages that wait in an NSQ channel, on all nsqd that have its topic."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, TypeVar

import httpx
from pydantic import Field

from keda_py.sdk.advanced import META, ScalerContext, TlsSettings, named
from keda_py.sdk.scaler import ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.brokers.nsq_depths import read_depth, read_producers
from scalers.shared.http_answer import HttpQuestion, get

_AT_ONCE = 8
_MOST_SERVERS = 256

T = TypeVar("T")


class NsqMetadata(TriggerMetadata):
    """Keys of an `nsq` trigger."""

    nsq_lookupd_http_addresses: Annotated[
        list[str], named("nsqLookupdHTTPAddresses"), sources(META, ENV), Field(min_length=1)
    ]
    topic: Annotated[str, sources(META, ENV)]
    channel: Annotated[str, sources(META, ENV)]
    depth_threshold: Annotated[int, sources(META, ENV), Target()] = 10
    activation_depth_threshold: Annotated[int, sources(META, ENV), Field(ge=0), Activation()] = 0
    use_https: Annotated[bool, sources(META, ENV)] = False
    unsafe_ssl: Annotated[bool, sources(META, ENV)] = False


class NsqScaler(Scaler[NsqMetadata]):
    """Asks each nsqlookupd for the nsqd, then each nsqd once; one that does not answer is an error."""

    metric_name = "nsq-{topic}-{channel}"

    def __init__(self, metadata: NsqMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None
        self._scheme = "https" if metadata.use_https else "http"

    async def read(self) -> Reading:
        """The sum over all nsqd; a topic that no nsqd has yet is 0."""
        found = await _each(self.metadata.nsq_lookupd_http_addresses, self._producers)
        servers = dict.fromkeys(server for servers in found for server in servers)
        if not servers:
            return Reading(value=0.0, note="no nsqd has the topic yet")
        return Reading(value=float(sum(await _each(servers, self._depth))))

    async def _producers(self, server: str) -> list[str]:
        answer = await self._ask(server, "lookup", {"topic": self.metadata.topic})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        return await self._parse(read_producers, answer, server)

    async def _depth(self, server: str) -> int:
        wanted = {"format": "json", "include_clients": "false", "include_mem": "false", "topic": self.metadata.topic}
        answer = await self._ask(server, "stats", wanted)
        return await self._parse(read_depth, answer, server, self.metadata.topic, self.metadata.channel)

    async def _ask(self, server: str, path: str, parameters: dict[str, str]) -> httpx.Response:
        url = f"{self._scheme}://{server}/{path}"
        return await get(self.context, HttpQuestion(url=url, parameters=parameters, tls=self._tls))

    async def _parse(self, read: Callable[..., T], answer: httpx.Response, server: str, *arguments: str) -> T:
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"nsq server {server}: unexpected status code {answer.status_code}")
        try:
            return await self.context.parse(read, answer.content, *arguments, inline_bytes=INLINE_BYTES)
        except ScalerError as error:
            raise ScalerError(f"nsq server {server}: {error}") from None


async def _each(servers: Iterable[str], ask: Callable[[str], Awaitable[T]]) -> list[T]:
    """Ask all, some at once. Raises the first ScalerError when all have been asked."""
    places, answers, failures = asyncio.Semaphore(_AT_ONCE), list[T](), list[ScalerError]()
    names = list(servers)
    if len(names) > _MOST_SERVERS:
        raise ScalerError(f"{len(names)} servers are more than {_MOST_SERVERS}")

    async def ask_one(server: str) -> None:
        async with places:
            try:
                answers.append(await ask(server))
            except ScalerError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as tasks:
        for server in names:
            tasks.create_task(ask_one(server))
    if failures:
        del failures[1:]  # an error in a circle keeps its frames, and what was asked through them
        raise failures.pop()
    return answers
