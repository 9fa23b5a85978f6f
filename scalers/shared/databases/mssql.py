"""SQL Server by python-tds, which blocks: each connection has a thread of its own, ended by closing its socket."""

from dataclasses import dataclass

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from scalers.shared.databases.mssql_address import MssqlAddress
from scalers.shared.databases.queries.link import Link
from scalers.shared.extras import needs_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class MssqlServer:
    """A `Server`. `token`: proves who the operator is, in place of a password; it goes over verified TLS only."""

    at: MssqlAddress
    timeout: float
    token: TokenSource | None = None

    @property
    def address(self) -> str:
        return f"mssql {self.at.host}:{self.at.port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key that always holds the user."""
        at = self.at
        security = (at.encryption, at.verified, id(self.token) if self.token else 0)
        what = ("mssql", use, at.host, at.port, at.database, *security, self.timeout)
        return sharing_key(tenant, what, at.user, at.password, "user")

    async def connect(self, context: ScalerContext) -> Link:
        """Raises ScalerError, or ConfigError where the library is missing."""
        with needs_extra("mssql"):
            from scalers.shared.databases import mssql_client
        verified = self.at.verified or self.token is not None
        trusted = context.tls_context(TlsSettings()).get_ca_certs(binary_form=True) if verified else None
        token = await self.token.token() if self.token else None
        return await mssql_client.connected(self.at, trusted, token, self.timeout)
