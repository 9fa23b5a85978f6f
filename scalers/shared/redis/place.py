"""The servers that hold a trigger's keys; triggers of one place share its connections."""

from dataclasses import dataclass
from typing import Literal

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ConfigError
from scalers.shared.protocols.listening import Listening, listening
from scalers.shared.redis import load_library
from scalers.shared.redis.interface import RedisAsker, RedisServer
from scalers.shared.redis.metadata import RedisConnectionMetadata, split_address

Topology = Literal["one server", "cluster", "sentinel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPlace:
    """`servers` are all addresses given: of one server, of a cluster's nodes, or of sentinels."""

    topology: Topology
    servers: tuple[RedisServer, ...]
    sentinels: tuple[RedisServer, ...]
    master: str

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key under which it, or another `use`, is shared: by all tenants unless there is a credential."""
        first, addresses = self.servers[0], ",".join(server.address for server in self.servers)
        tls = first.tls or TlsSettings()
        place = (self.topology, addresses, self.master, first.database, first.timeout)
        what = ("redis", use, *place, first.tls is not None, tls.ca, tls.unsafe)
        users = [part for one in (first, self.sentinels[0]) for part in (one.username, one.password)]
        return sharing_key(tenant, what, *users, *tls.credential)

    async def join(self, context: ScalerContext) -> RedisAsker:
        """The shared connections, which have answered a PING once. Raises ScalerError, or ConfigError for TLS."""
        load_library()
        from scalers.shared.redis.commands import answering

        async def open_asker() -> RedisAsker:
            return await answering(self._asker(context))

        return await context.shared(self.key(context.namespace, "pool"), open_asker, _close)

    async def listen(self, asker: RedisAsker, context: ScalerContext) -> Listening:
        """The shared one of those who wait for keys to change; their connections are beside those that ask."""
        from scalers.shared.redis.events import keyspace

        return await listening(
            self.key(context.namespace, "events"), keyspace(asker, self.servers[0].database), context
        )

    def _asker(self, context: ScalerContext) -> RedisAsker:
        match self.topology:
            case "one server":
                from scalers.shared.redis.commands import OneRedis

                return OneRedis(self.servers[0], context)
            case "cluster":
                from scalers.shared.redis.cluster import RedisCluster

                return RedisCluster(self.servers, context)
            case "sentinel":
                if not self.master:
                    missing = "sentinelMaster: missing; write the name of the master that the sentinels watch"
                    raise ConfigError(missing, field="sentinelMaster")
                from scalers.shared.redis.sentinel import master_of

                return master_of(self.sentinels, self.master, self.servers[0], context)


def place_of(metadata: RedisConnectionMetadata, topology: Topology, timeout: float) -> RedisPlace:
    """A cluster has one database; one server has one address."""
    addresses = [split_address(address) for address in metadata.servers()]
    tls = metadata.tls_settings()
    servers = tuple(
        RedisServer(
            host=host,
            port=port,
            database=0 if topology == "cluster" else metadata.database_index,
            username=metadata.username,
            password=metadata.password,
            tls=tls,
            timeout=timeout,
        )
        for host, port in addresses
    )
    sentinels = tuple(
        RedisServer(
            host=host,
            port=port,
            database=0,
            username=metadata.sentinel_username,
            password=metadata.sentinel_password,
            tls=tls,
            timeout=timeout,
        )
        for host, port in addresses
    )
    kept = servers if topology != "one server" else servers[:1]
    return RedisPlace(topology=topology, servers=kept, sentinels=sentinels, master=metadata.sentinel_master)


async def _close(asker: RedisAsker) -> None:
    await asker.aclose()
