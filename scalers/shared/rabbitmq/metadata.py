"""The keys of a rabbitmq trigger, and which of them exclude each other."""

from datetime import timedelta
from functools import cached_property
from typing import Annotated, Literal, Self, cast, get_args

from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import META, PodIdentity, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, TriggerMetadata, sources
from scalers.shared.rabbitmq.address import Protocol, RabbitAddress, parse_address
from scalers.shared.rabbitmq.counts import Mode

_NONE = SecretStr("")
_MODES: tuple[str, ...] = get_args(Mode)
_DEFAULT_LENGTH = 20.0


class RabbitmqMetadata(TriggerMetadata):
    """Keys of `rabbitmq`; `host` holds a password, so no error shows it."""

    queue_name: str
    mode: str = ""
    queue_length: float = 0.0
    value: float = 0.0
    activation_value: Annotated[float, Activation()] = 0.0
    host: Annotated[SecretStr, sources(META, AUTH, ENV)]
    protocol: Annotated[Literal["auto", "amqp", "http"], sources(META, AUTH)] = "auto"
    vhost_name: Annotated[str, sources(META, AUTH)] = ""
    use_regex: bool = False
    exclude_unacknowledged: bool = False
    page_size: Annotated[int, Field(ge=1)] = 100
    operation: str = "sum"
    timeout: timedelta | None = None
    username: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    tls: Annotated[Literal["enable", "disable"], sources(AUTH)] = "disable"
    unsafe_ssl: bool = False
    workload_identity_resource: Annotated[str, sources(AUTH)] = ""
    oauth_token_uri: Annotated[str, named("oauthTokenURI"), sources(AUTH)] = ""
    client_id: Annotated[str, named("clientID"), sources(AUTH)] = ""
    client_secret: Annotated[SecretStr, sources(AUTH)] = _NONE
    scopes: Annotated[list[str], sources(AUTH)] = []
    endpoint_params: Annotated[dict[str, list[str]], sources(AUTH)] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if _is_set(self.cert) != _is_set(self.key):
            raise ValueError("both key and certificate must be provided: give cert and key, or none")
        if _is_set(self.username) != _is_set(self.password):
            raise ValueError("username and password must be given together")
        self._check_oauth()
        self._check_mode()
        self._check_protocol()
        return self

    def _check_oauth(self) -> None:
        needed = (self.oauth_token_uri, self.client_id, self.client_secret.get_secret_value())
        if any(needed) and not all(needed):
            raise ValueError(
                "OAuth2 requires tokenUrl clientId and clientSecret to be configured in TriggerAuthentication: "
                "give oauthTokenURI, clientID and clientSecret"
            )
        if any(needed) and (_is_set(self.username) or self.workload_identity_resource):
            raise ValueError(
                "OAuth2 authentication cannot be combined with username/password authentication or Azure Workload "
                "Identity: keep one"
            )

    def _check_mode(self) -> None:
        if self.queue_length and (self.mode or self.value):
            raise ValueError("queueLength is deprecated; use mode and value: remove queueLength")
        if not self.mode and self.value:
            raise ValueError(f"mode must be specified together with value: one of {', '.join(_MODES)}")
        if self.mode and self.mode not in _MODES:
            raise ValueError(f"trigger mode {self.mode} must be one of {', '.join(_MODES)}")
        if self.mode and not self.value:
            raise ValueError("value must be specified together with mode, and not be 0")

    def _check_protocol(self) -> None:
        by = self.address.protocol
        if self.protocol not in ("auto", by):
            raise ValueError(f"protocol {self.protocol} is not what the scheme of host says ({by}): use auto")
        if by == "http":
            return
        http_only = {
            "useRegex=true": self.use_regex,
            "excludeUnacknowledged=true": self.exclude_unacknowledged,
            "timeout together with mode": bool(self.timeout and self.mode),
        }
        if wrong := [key for key, given in http_only.items() if given]:
            raise ValueError(f"configure {' and '.join(wrong)} only with HTTP protocol")
        if self.measured_mode != "QueueLength":
            raise ValueError(f"protocol amqp not supported; must be HTTP to use trigger mode {self.measured_mode}")
        if self.oauth_token_uri or self.workload_identity_resource:
            raise ValueError(
                "OAuth2 authentication is only supported with HTTP protocol, not AMQP, and so is workload identity"
            )

    @cached_property
    def address(self) -> RabbitAddress:
        """`host`, parsed. Raises ValueError."""
        return parse_address(self.host.get_secret_value(), self.vhost_name)

    @property
    def chosen_protocol(self) -> Protocol:
        return self.address.protocol

    @property
    def measured_mode(self) -> Mode:
        """QueueLength where none is given."""
        return cast("Mode", self.mode or "QueueLength")

    @property
    def target(self) -> float:
        """Target of the metric: `value`, or the older `queueLength`, or 20."""
        return self.value or self.queue_length or _DEFAULT_LENGTH

    @property
    def credentials(self) -> tuple[SecretStr, SecretStr]:
        """User and password: their own parameters before those of `host`."""
        if _is_set(self.username):
            return self.username, self.password
        return self.address.username, self.address.password

    def identity(self, pod: PodIdentity) -> tuple[SecretStr | str | tuple[str, ...], ...]:
        """Everything that decides what the server lets be seen."""
        oauth = (
            self.oauth_token_uri,
            self.client_id,
            self.client_secret,
            tuple(self.scopes),
            str(self.endpoint_params),
        )
        azure = (self.workload_identity_resource, pod.identity_id, pod.identity_tenant_id, pod.identity_authority_host)
        return (*self.credentials, *oauth, *(azure if self.workload_identity_resource else ()))

    def tls_settings(self) -> TlsSettings:
        """Authority and certificate count only where tls is enabled, as in KEDA."""
        if self.tls != "enable":
            return TlsSettings(unsafe=self.unsafe_ssl)
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
            unsafe=self.unsafe_ssl,
        )


def _is_set(text: SecretStr) -> bool:
    return bool(text.get_secret_value())
