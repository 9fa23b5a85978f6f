"""Scale on the number in a key of etcd; a change of it is told at once."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import ScalerContext, TlsSettings
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.grpc.etcd import Etcd, EtcdUser, etcd
from scalers.shared.numbers import finite_reading, float_of

_NONE = SecretStr("")
_SECONDS = 5.0
"""Seconds of a poll, as in KEDA."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
"""Seconds before a stream that ended is opened again; twice as long each time."""

log = logging.getLogger(__name__)


class EtcdMetadata(TriggerMetadata):
    """Keys of `etcd`."""

    endpoints: Annotated[list[str], Field(min_length=1)]
    watch_key: str
    value: Annotated[float, Target()]
    activation_value: Annotated[float, Activation()] = 0.0
    watch_progress_notify_interval: Annotated[int, Field(gt=0)] = 600
    username: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    tls: Annotated[Literal["enable", "disable"], sources(AUTH)] = "disable"
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        if bool(self.username.get_secret_value()) != bool(self.password.get_secret_value()):
            raise ValueError("username must be provided with password, and password with username")
        if self.tls == "enable" and bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("cert must be provided with key, and key with cert")
        return self

    def tls_settings(self) -> TlsSettings | None:
        """Return None without TLS keys: an https endpoint is then trusted by the system's authorities."""
        if self.tls != "enable":
            return None
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
        )


class EtcdScaler(Scaler[EtcdMetadata]):
    """Asks by gRPC; the endpoint that answered last is asked first."""

    metric_name = "etcd-{watch_key}"
    _etcd: Etcd

    def __init__(self, metadata: EtcdMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        settings = metadata.tls_settings()
        self._user = EtcdUser(
            endpoints=tuple(_without_path(one) for one in metadata.endpoints),
            username=metadata.username,
            password=metadata.password,
            tls=settings,
            timeout=_SECONDS,
        )
        if settings is not None:
            context.tls_context(settings)  # what is no certificate is refused at once

    @property
    def timeout(self) -> float:
        return _SECONDS

    async def open(self) -> None:
        """Share the connections to these endpoints; the first reading uses them."""
        self._etcd = await etcd(self._user, self.context)

    async def read(self) -> Reading:
        """The number now; a key that is missing or holds no number is an error."""
        text = await self._etcd.value(self.metadata.watch_key)
        if text is None:
            raise ScalerError(f"key {self.metadata.watch_key} doesn't exist")
        reading = _reading(text)
        if reading is None:
            raise ScalerError(f"key {self.metadata.watch_key} holds no number")
        return reading

    async def watch(self) -> AsyncIterator[bool]:
        """Yield activity at each change; a text without a number counts as 0.

        The stream is opened again when it ends.
        """
        pause, silence = _FIRST_PAUSE, 2.0 * self.metadata.watch_progress_notify_interval
        while True:
            try:
                async with aclosing(self._etcd.changes(self.metadata.watch_key, silence)) as changes:
                    async for text in changes:
                        pause = _FIRST_PAUSE
                        reading = _reading(text) or Reading(value=0.0)
                        yield reading.value > self.metadata.activation_value
            except ScalerError as error:
                log.debug("stream of changes ended", extra={"seconds": pause, "error": str(error)})
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _reading(text: str) -> Reading | None:
    """Returns None for a text that is not a number of 64 bits."""
    try:
        return finite_reading(float_of(text))
    except ValueError:
        return None


def _without_path(endpoint: str) -> str:
    """An endpoint is a server: KEDA's client passes over a path, and so over the slash that ends many an address."""
    scheme, separator, rest = endpoint.rpartition("://")
    return f"{scheme}{separator}{rest.partition('/')[0]}"
