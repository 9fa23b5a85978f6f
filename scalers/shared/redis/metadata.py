"""Connection keys of the redis family of scalers."""

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import META, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, TriggerMetadata, sources

_NONE = SecretStr("")
_NO_ADDRESS = (
    "no addresses or hosts given. address should be a comma separated list of host:port or set the host/port values"
)


class RedisConnectionMetadata(TriggerMetadata):
    """Connection keys of the whole family; a plain server ignores the sentinel ones."""

    addresses: Annotated[list[str], named("address", "addresses"), sources(META, AUTH, ENV)] = []
    hosts: Annotated[list[str], named("host", "hosts"), sources(META, ENV, AUTH)] = []
    ports: Annotated[list[str], named("port", "ports"), sources(META, ENV, AUTH)] = []
    username: Annotated[SecretStr, sources(META, ENV, AUTH)] = _NONE
    password: Annotated[SecretStr, sources(META, ENV, AUTH)] = _NONE
    sentinel_username: Annotated[SecretStr, sources(META, AUTH, ENV)] = _NONE
    sentinel_password: Annotated[SecretStr, sources(META, AUTH, ENV)] = _NONE
    sentinel_master: Annotated[str, sources(META, AUTH, ENV)] = ""
    database_index: Annotated[int, Field(ge=0)] = 0
    enable_tls: Annotated[bool | None, named("enableTLS")] = None
    tls: Annotated[Literal["enable", "disable"] | None, sources(AUTH)] = None
    unsafe_ssl: bool = False
    cert: Annotated[SecretStr, named("cert", "Cert"), sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if self.enable_tls is not None and self.tls is not None:
            raise ValueError("unable to set `tls` in both ScaledObject and TriggerAuthentication together: keep one")
        if self._is_tls and bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("cert and key belong together: give both or none")
        for address in self.servers():
            split_address(address)
        return self

    def servers(self) -> list[str]:
        """`host:port` of each server. Raises ValueError where neither addresses nor hosts and ports make any."""
        if not self.hosts or not self.ports:
            if not self.addresses:
                raise ValueError(_NO_ADDRESS)
            return self.addresses
        if len(self.hosts) != len(self.ports):
            counts = f"{len(self.hosts)} hosts, {len(self.ports)} ports"
            raise ValueError(f"not enough hosts or ports given. number of hosts should be equal to ports: {counts}")
        return self.addresses + [f"{host}:{port}" for host, port in zip(self.hosts, self.ports, strict=True)]

    @property
    def _is_tls(self) -> bool:
        return self.enable_tls is True or self.tls == "enable"

    def tls_settings(self) -> TlsSettings | None:
        """Return None without TLS."""
        if not self._is_tls:
            return None
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
            unsafe=self.unsafe_ssl,
        )


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[::1]:port`; raises ValueError, which does not repeat the address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= 65535 or "@" in host:
        raise ValueError("address: is not host:port, such as redis:6379; credentials go into username and password")
    return host.strip("[]"), int(port)
