"""MySQL and what speaks its protocol, by aiomysql."""

from dataclasses import dataclass

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from scalers.shared.databases.mysql_address import MysqlAddress
from scalers.shared.databases.queries.link import Link
from scalers.shared.extras import needs_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlServer:
    """A `Server` of MySQL, without I/O before `connect`."""

    at: MysqlAddress
    timeout: float

    @property
    def address(self) -> str:
        return f"mysql {self.at.host}:{self.at.port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key that always holds the user."""
        at = self.at
        what = ("mysql", use, at.host, at.port, at.database, at.tls, at.plaintext, self.timeout)
        session = "; ".join(statement for alternatives in at.session for statement in alternatives)
        return sharing_key(tenant, what, at.user, at.password, session, "user")

    async def connect(self, context: ScalerContext) -> Link:
        """Raises ScalerError, or ConfigError where the library is missing."""
        with needs_extra("mysql"):
            from scalers.shared.databases import mysql_client
        at = self.at
        tls = None if at.tls == "disable" else context.tls_context(TlsSettings(unsafe=at.tls != "verify"))
        return await mysql_client.connected(
            {
                "host": at.host,
                "port": at.port,
                "user": at.user,
                "password": at.password.get_secret_value(),
                "db": at.database or None,
                "ssl": tls,
                "must_encrypt": at.tls in ("verify", "unverified") and not at.plaintext,
                "connect_timeout": self.timeout,
            },
            at.session,
        )
