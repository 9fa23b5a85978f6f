"""A Redis cluster: each key's slot has a node, and all commands of one node are one round trip."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from redis.asyncio import Redis
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError, RedisError

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.redis.commands import ask_all, in_time, unreachable
from scalers.shared.redis.interface import Command, RedisServer
from scalers.shared.redis.server import client_for

# Redis recommends 1 000 nodes at most, and each costs a pool; the answer of a hostile node may name any number.
_MOST_NODES = 512

Node = tuple[str, int]


class RedisCluster:
    """Knows which node has which slots; it asks for that again when a node says otherwise, or is gone."""

    def __init__(self, servers: Sequence[RedisServer], context: ScalerContext) -> None:
        self._servers, self._context = servers, context
        self._slots: list[tuple[int, int, Node]] = []
        self._clients: dict[Node, Redis] = {}

    async def ask(self, commands: Sequence[Command]) -> Sequence[object]:
        """See `RedisAsker`; a node that does not answer fails its own commands."""
        first = self._servers[0]
        try:
            with self._context.clock.busy():
                async with in_time(first):
                    return await self._ask(commands)
        except TimeoutError as error:
            raise unreachable(first, error) from None

    async def _ask(self, commands: Sequence[Command]) -> Sequence[object]:
        if not self._slots:
            await self._learn()
        # Slots move at any time: the map is believed until a node says MOVED or is gone, then it is read again, once.
        # A second MOVED is left to the next poll, so that a cluster that moves slots all the time costs no more.
        answers: dict[int, object] = await self._ask_nodes(dict(enumerate(commands)))
        elsewhere = {at: commands[at] for at, answer in answers.items() if isinstance(answer, MovedError | ScalerError)}
        if elsewhere:
            await self._learn()
            answers.update(await self._ask_nodes(elsewhere))
        for at, answer in answers.items():
            if isinstance(answer, AskError) and not isinstance(answer, MovedError):
                answers[at] = await self._ask_importer(answer, commands[at])
        return [answers[at] for at in range(len(commands))]

    async def client_of(self, key: str) -> Redis:
        """See `RedisAsker`; the polls find out what has moved."""
        if not self._slots:
            await self._learn()
        return self._client(self._node_of(key))

    async def aclose(self) -> None:
        """Close all pools."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def _ask_nodes(self, commands: dict[int, Command]) -> dict[int, object]:
        by_node: dict[Node, list[int]] = {}
        for at, command in commands.items():
            by_node.setdefault(self._node_of(command.key), []).append(at)
        answers: dict[int, object] = {}

        async def ask(node: Node, places: list[int]) -> None:
            said = await self._ask_node(node, [commands[at].words for at in places])
            answers.update(zip(places, said, strict=True))

        async with asyncio.TaskGroup() as tasks:
            for node, places in by_node.items():
                tasks.create_task(ask(node, places))
        return answers

    async def _ask_node(self, node: Node, commands: Sequence[tuple[str, ...]]) -> Sequence[object]:
        try:
            return await ask_all(self._client(node), commands)
        except (RedisError, OSError) as error:
            return [unreachable(self._server_at(node), error)] * len(commands)

    async def _ask_importer(self, moving: AskError, command: Command) -> object:
        """Ask the node that imports the slot, which has the key already."""
        # ASKING is valid for the next command on its connection alone, so both go in one pipeline.
        _, answer = await self._ask_node((moving.host, moving.port), [("ASKING",), command.words])
        return answer

    def _node_of(self, key: str) -> Node:
        slot = key_slot(key.encode())
        for first, last, node in self._slots:
            if first <= slot <= last:
                return node
        raise ScalerError(f"redis cluster: no node has the slot {slot}: the cluster is not whole")

    async def _learn(self) -> None:
        """Ask a node that is known, or one of the addresses given, until one tells. Raises ScalerError."""
        failure: Exception = ScalerError("no address")
        known = {node: None for _, _, node in self._slots}
        for node in chain(known, ((server.host, server.port) for server in self._servers)):
            (answer,) = await self._ask_node(node, [("CLUSTER", "SLOTS")])
            if isinstance(answer, Exception):
                failure = answer
                continue
            self._slots = _read_slots(answer, node[0])
            # Pools of nodes that left the cluster are closed: else each failover would leave one behind.
            await self._forget({node for _, _, node in self._slots})
            return
        raise failure if isinstance(failure, ScalerError) else unreachable(self._servers[0], failure)

    async def _forget(self, known: set[Node]) -> None:
        for node in [node for node in self._clients if node not in known]:
            await self._clients.pop(node).aclose()

    def _client(self, node: Node) -> Redis:
        if node not in self._clients:
            self._clients[node] = client_for(self._server_at(node), self._context)
        return self._clients[node]

    def _server_at(self, node: Node) -> RedisServer:
        return replace(self._servers[0], host=node[0], port=node[1])


def _read_slots(answer: object, asked: str) -> list[tuple[int, int, Node]]:
    """First and last slot and the master of each piece; a node that does not know its own name is the one asked."""
    slots = []
    for piece in answer if isinstance(answer, list) else ():
        match piece:
            case [int(first), int(last), [bytes() | None as host, int(port), *_], *_] if 0 < port <= 65535:
                slots.append((first, last, ((host or b"").decode("ascii", "replace") or asked, port)))
            case _:
                raise ScalerError("redis cluster: the answer to CLUSTER SLOTS is not a list of slots")
    if not slots or len({node for _, _, node in slots}) > _MOST_NODES:
        raise ScalerError("redis cluster: CLUSTER SLOTS names no node, or too many")
    return slots
