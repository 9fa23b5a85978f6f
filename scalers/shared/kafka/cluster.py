"""A Kafka cluster as one user: the offsets of many groups and topics in few requests.

Metadata of all topics in one request, what each group has committed in one, and the ends of all partitions in one for
each broker that leads some. What fails for a topic, a group or a broker fails the questions that need it, no other.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import for_code
from aiokafka.protocol.api import Request
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.kafka.answers import INLINE_BYTES, REPEATED_BYTES, read_answer, repeated_answer
from scalers.shared.kafka.connection import ERRORS, BrokerConnection, UndecodedRequest, reason
from scalers.shared.kafka.lag import Partition
from scalers.shared.kafka.metadata import KafkaServers
from scalers.shared.kafka.offsets import (
    Address,
    Answer,
    GroupQuestion,
    Known,
    Layout,
    OffsetNumbers,
    OffsetQuestions,
    answer_to,
    by_topic,
    layout_of,
    numbers_in,
)
from scalers.shared.kafka.tokens import token_provider

K = TypeVar("K")
T = TypeVar("T")

_PORT = 9092
_LATEST = -1
_AT_ONCE = 32
_MOST_CONNECTIONS = 128
_MOST_LAYOUTS = 64
"""Layouts that are remembered, by topics: all triggers are asked together, and HPAs ask for some of them alone."""
_MOVED = (15, 16)
"""COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR: ask for it anew."""


async def open_cluster(servers: KafkaServers, context: ScalerContext) -> "Cluster":
    """The shared cluster; it has answered once. Raises ScalerError, or ConfigError for what will never work."""
    bootstrap = [_address(server) for server in servers.bootstrap]
    tokens = await token_provider(servers, context)

    async def make() -> Cluster:
        cluster = Cluster(servers, bootstrap, context, tokens)
        try:
            async with context.connection(", ".join(servers.bootstrap)):
                with context.clock.busy():
                    await cluster.layout([])
        except BaseException:
            await cluster.aclose()
            raise
        return cluster

    return await context.shared(servers.key(context.namespace, "connections"), make, Cluster.aclose)


def _address(server: str) -> Address:
    host, colon, port = server.rpartition(":") if not server.endswith("]") else (server, "", "")
    host = (host if colon else server).strip("[]")
    if not host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 65535)) or "@" in host:
        raise ConfigError("bootstrapServers: write host:port, such as kafka:9092", field="bootstrapServers")
    return host, int(port or _PORT)


class Cluster:
    """A cluster's connections by address; each is made when needed, and again when lost."""

    def __init__(
        self,
        servers: KafkaServers,
        bootstrap: Sequence[Address],
        context: ScalerContext,
        tokens: AbstractTokenProvider | None,
    ) -> None:
        self._servers, self._bootstrap, self._context, self._tokens = servers, bootstrap, context, tokens
        self._tls = context.tls_context(servers.tls) if servers.tls else None
        self._connections: dict[Address, BrokerConnection] = {}
        self._locks: WeakValueDictionary[Address, asyncio.Lock] = WeakValueDictionary()
        self._coordinators: dict[str, Address] = {}
        self._layouts: dict[tuple[str, ...], Layout] = {}

    async def aclose(self) -> None:
        """Close every connection."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await connection.shut()

    async def offsets(self, questions: Collection[GroupQuestion]) -> Mapping[GroupQuestion, Answer]:
        """Read what each group has committed, and where its partitions end.

        Raises ScalerError when no broker answers.
        """
        everything = {question.group for question in questions if not question.topics}
        known = await _for_each(everything, lambda group: self._committed(group, None))
        topics = {topic for question in questions for topic in question.topics}
        topics |= {topic for found in known.values() if isinstance(found, dict) for topic, _ in found}
        wanted = OffsetQuestions(questions, known)
        layout, numbers = await self._layout_and_numbers(tuple(sorted(topics)), wanted)
        partitions = wanted.partitions(layout)
        return {one: answer_to(part, numbers.committed[one], numbers.ends) for one, part in partitions.items()}

    async def _layout_and_numbers(
        self, topics: tuple[str, ...], wanted: OffsetQuestions
    ) -> tuple[Layout, OffsetNumbers]:
        """Read the layout and, in the same round trip, the offsets of the partitions that were there before.

        Partitions and leaders rarely change; where they have, the offsets are read once more. Raises ScalerError.
        """
        before = self._layouts.get(topics)
        if before is None:
            layout = await self._read_layout(topics)
            return layout, await self._numbers(layout, wanted)
        async with asyncio.TaskGroup() as tasks:
            early = tasks.create_task(self._numbers(before, wanted))
            try:
                now: Layout | ScalerError = await self._read_layout(topics)
            except ScalerError as error:
                now = error
            is_same = isinstance(now, Layout) and now.leaders == before.leaders
            if not is_same:
                early.cancel()  # it may be waiting for a broker that is gone
        if isinstance(now, ScalerError):
            raise now
        return now, early.result() if is_same else await self._numbers(now, wanted)

    async def _read_layout(self, topics: tuple[str, ...]) -> Layout:
        layout = await self.layout(topics)
        self._layouts.pop(topics, None)
        self._layouts[topics] = layout
        if len(self._layouts) > _MOST_LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        return layout

    async def _numbers(self, layout: Layout, wanted: OffsetQuestions) -> OffsetNumbers:
        by_question = wanted.partitions(layout)
        partitions = {one for part in by_question.values() if isinstance(part, list) for one in part}
        # Committed offsets and ends are read at the same time: what happens between two readings falsifies the lag.
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._ends(partitions, layout))
            committed = await self._committed_by_groups(by_question, wanted.known)
        return OffsetNumbers(committed, asking.result())

    async def layout(self, topics: Sequence[str]) -> Layout:
        """Find the brokers that lead these topics. Raises ScalerError when no broker answers."""
        # Without auto-creation: a typing error in a trigger must not create a topic.
        return layout_of(await self._ask_any(MetadataRequest(list(topics), allow_auto_topic_creation=False)))

    async def _ask_any(self, request: Request[Any]) -> dict[str, Any]:
        """Ask one broker after the other. Raises the last one's ScalerError when none answers."""
        failure = ScalerError("kafka: no bootstrapServers")
        for address in dict.fromkeys([*self._connections, *self._bootstrap]):
            try:
                return await self._ask(address, request)
            except ScalerError as error:
                failure = error
        raise failure

    async def _committed_by_groups(
        self,
        wanted: "Mapping[GroupQuestion, list[Partition] | ScalerError]",
        known: "Mapping[str, Known | ScalerError]",
    ) -> "Mapping[GroupQuestion, Known | ScalerError]":
        """Send one request for each group, whatever the number of its topics and triggers."""
        together: defaultdict[str, set[Partition]] = defaultdict(set)
        for question, partitions in wanted.items():
            if question.topics and isinstance(partitions, list):
                together[question.group] |= set(partitions)
        found = await _for_each(together, lambda group: self._committed(group, together[group]))
        unasked = ScalerError("kafka: not asked")
        return {one: (found if one.topics else known).get(one.group, unasked) for one in wanted}

    async def _committed(self, group: str, partitions: Collection[Partition] | None) -> Known:
        """The committed offsets of these partitions, or of all that have one."""
        request = OffsetFetchRequest(group, None if partitions is None else list(by_topic(partitions).items()))
        # The coordinator of a group is kept, since it rarely moves: it saves a request for each group and poll.
        known = self._coordinators.get(group)
        answer = await self._ask(known or await self._find_coordinator(group), request)
        code = answer.get("error_code", 0)
        if known and code in _MOVED:
            answer = await self._ask(await self._find_coordinator(group), request)
            code = answer.get("error_code", 0)
        if code:
            self._coordinators.pop(group, None)
            raise ScalerError(f'kafka, group "{group}": {for_code(code).__name__}')
        return numbers_in(answer, "offset")

    async def _find_coordinator(self, group: str) -> Address:
        answer = await self._ask_any(FindCoordinatorRequest(group, 0))
        if code := answer["error_code"]:
            raise ScalerError(f'kafka, coordinator of group "{group}": {for_code(code).__name__}')
        self._coordinators[group] = address = (answer["host"], answer["port"])
        return address

    async def _ends(self, partitions: Collection[Partition], layout: Layout) -> Known:
        """Ask the leader of each partition where it ends."""
        ends: Known = {}
        led: defaultdict[Address, list[Partition]] = defaultdict(list)
        for partition in partitions:
            if leader := layout.leaders.get(partition):
                led[leader].append(partition)
            else:
                ends[partition] = ScalerError(f"kafka: partition {partition[1]} of {partition[0]} has no leader")
        for leader, found in (await _for_each(led, lambda leader: self._ends_of(leader, led[leader]))).items():
            ends |= dict.fromkeys(led[leader], found) if isinstance(found, ScalerError) else found
        return ends

    async def _ends_of(self, leader: Address, partitions: Collection[Partition]) -> Known:
        asked = [(topic, [(one, _LATEST) for one in ones]) for topic, ones in by_topic(partitions).items()]
        return numbers_in(await self._ask(leader, OffsetRequest(-1, 0, asked)), "offset")

    async def _ask(self, address: Address, request: Request[Any]) -> dict[str, Any]:
        """Ask, once more on a new connection if a kept one turns out to be dead. Raises ScalerError."""
        undecoded = UndecodedRequest(request)
        kept = self._connections.get(address)
        try:
            if kept is not None and kept.connected():
                try:
                    text = await kept.ask(undecoded)
                except TimeoutError:
                    raise  # the broker is slow, not gone: asking again would double its load and the time
                except ERRORS:
                    text = await (await self._connect(address)).ask(undecoded)
            else:
                text = await (await self._connect(address)).ask(undecoded)
        except ERRORS as error:
            raise ScalerError(f"kafka {address[0]}:{address[1]}: {reason(error)}") from None
        if len(text) <= REPEATED_BYTES:
            return repeated_answer(text, undecoded.api_key, undecoded.version)
        return await self._context.parse(
            read_answer, text, undecoded.api_key, undecoded.version, inline_bytes=INLINE_BYTES
        )

    async def _connect(self, address: Address) -> BrokerConnection:
        # A broker's own answer names the others, so what it names is checked as hostile input.
        if not address[0] or not 0 < address[1] <= 65535:
            raise ConnectionError("the cluster names no host and port for this broker")
        # One lock for each address: many groups are read at once, and each would open a connection of its own.
        async with self._locks.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is None or not connection.connected():
                connection = self._new(address)
                await connection.connect()
                self._connections[address] = connection
                await self._shut_oldest()
        return connection

    async def _shut_oldest(self) -> None:
        """Close the oldest connection when there are too many: a cluster may name any number of brokers."""
        if len(self._connections) > _MOST_CONNECTIONS:
            await self._connections.pop(next(iter(self._connections))).shut()

    def _new(self, address: Address) -> BrokerConnection:
        servers = self._servers
        return BrokerConnection(
            *address,
            client_id="keda-py",
            request_timeout_ms=servers.timeout * 500,  # half of a poll: what never answers is shut before it ends
            ssl_context=self._tls,
            security_protocol=("SASL_" if servers.mechanism else "") + ("SSL" if self._tls else "PLAINTEXT"),
            sasl_mechanism=servers.mechanism,
            sasl_plain_username=servers.username.get_secret_value(),
            sasl_plain_password=servers.password.get_secret_value(),
            sasl_oauth_token_provider=self._tokens,
        )


async def _for_each(keys: Collection[K], ask: Callable[[K], Awaitable[T]]) -> "dict[K, T | ScalerError]":
    """Run for all concurrently; a failure is the value of its item."""
    answers: dict[K, T | ScalerError] = {}
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(key: K) -> None:
        async with places:
            try:
                answers[key] = await ask(key)
            except ScalerError as error:
                answers[key] = error

    if len(keys) == 1:  # a cluster often has one broker, and a batch one group: a task each would cost 20 us
        await one(*keys)
        return answers
    async with asyncio.TaskGroup() as tasks:
        for key in keys:
            tasks.create_task(one(key))
    return answers
