"""The keys of TLS that several types share: whom to trust, and which certificate to show."""

import ssl
from typing import Annotated, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import ScalerContext, TlsSettings
from keda_py.sdk.scaler import AUTH, TriggerMetadata, sources

_NONE = SecretStr("")


class ClientTlsMetadata(TriggerMetadata):
    """Keys of the block."""

    unsafe_ssl: bool = False
    ca: Annotated[str, sources(AUTH)] = ""
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE

    @model_validator(mode="after")
    def _check_certificate(self) -> Self:
        if bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("cert and key belong together: give both or none")
        return self


def client_tls(metadata: ClientTlsMetadata, context: ScalerContext) -> ssl.SSLContext | None:
    """Make the TLS context; None if nothing differs from the shared client's. Raises ConfigError."""
    settings = TlsSettings(
        ca=metadata.ca,
        cert=metadata.cert.get_secret_value(),
        key=metadata.key.get_secret_value(),
        key_password=metadata.key_password.get_secret_value(),
        unsafe=metadata.unsafe_ssl,
    )
    return None if settings == TlsSettings() else context.tls_context(settings)
