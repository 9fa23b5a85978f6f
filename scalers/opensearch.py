"""Scale on a number in the answer of a search of OpenSearch."""

from typing import Annotated, Self

import orjson
from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, NO_REDIRECTS, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, ScalerError, sources
from scalers.shared.credentials.basic import basic
from scalers.shared.elastic.nodes import Nodes, nodes_of
from scalers.shared.elastic.search import SearchMetadata, SearchScaler

_NONE = SecretStr("")


class OpensearchMetadata(SearchMetadata):
    """Keys of `opensearch`: user and password, or a client certificate where enableTLS is on."""

    addresses: Annotated[list[str], sources(AUTH, META)]
    unsafe_ssl: bool = False
    enable_tls: Annotated[bool, named("enableTLS"), sources(META, AUTH)] = False
    username: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV, META)] = _NONE
    ca_cert: Annotated[str, sources(AUTH, META)] = ""
    client_cert: Annotated[SecretStr, sources(AUTH, META)] = _NONE
    client_key: Annotated[SecretStr, sources(AUTH, META)] = _NONE

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_search()
        if self.enable_tls:
            if not self.client_cert.get_secret_value() or not self.client_key.get_secret_value():
                raise ValueError("both clientCert and clientKey must be provided when enableTLS is true")
        elif not self.username or not self.password.get_secret_value():
            raise ValueError("both username and password must be provided for basic auth")
        return self

    def tls_settings(self) -> TlsSettings:
        """The client's certificate counts where enableTLS is on, `caCert` always."""
        if not self.enable_tls:
            return TlsSettings(ca=self.ca_cert, unsafe=self.unsafe_ssl)
        return TlsSettings(
            ca=self.ca_cert,
            cert=self.client_cert.get_secret_value(),
            key=self.client_key.get_secret_value(),
            unsafe=self.unsafe_ssl,
        )


class OpensearchScaler(SearchScaler[OpensearchMetadata]):
    """The nodes are asked in turn; redirects are not followed."""

    product = "opensearch"

    async def open(self) -> None:
        """See whether it answers."""
        metadata = self.metadata
        headers = basic(metadata.username, metadata.password.get_secret_value()) if metadata.username else {}
        tls = self.context.tls_context(metadata.tls_settings())
        self._nodes = Nodes(nodes_of(metadata.addresses, headers), tls, self.context, NO_REDIRECTS)
        answer = await self._nodes.look("HEAD")
        self._nodes.next_turn()
        if not answer.is_success:
            raise ScalerError(f"failed to create opensearch client: status {answer.status_code}")

    def _check_query(self, query: str) -> None:
        try:
            orjson.loads(query)
        except orjson.JSONDecodeError:
            raise ScalerError("query: is not JSON: write the body of a search") from None
