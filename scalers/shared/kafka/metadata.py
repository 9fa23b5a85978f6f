"""The keys that `kafka` and `apache-kafka` share, and what they say of a cluster."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, SecretStr, model_validator

from keda_py.cloud import aws
from keda_py.sdk.advanced import META, SharingKey, TlsSettings, ranges, sharing_key
from keda_py.sdk.scaler import AUTH, ENV, Activation, Target, sources
from scalers.shared.aws.aws import AwsAuthMetadata
from scalers.shared.kafka.lag import LagRules, ResetPolicy

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
Switch = Literal["enable", "disable"]
_NONE = SecretStr("")

MECHANISMS: dict[str, Mechanism] = {
    "plaintext": "PLAIN",
    "scram_sha256": "SCRAM-SHA-256",
    "scram_sha512": "SCRAM-SHA-512",
    "oauthbearer": "OAUTHBEARER",
    "aws_msk_iam": "OAUTHBEARER",  # brokers of MSK take IAM's signature under both names
}


class GroupLagMetadata(AwsAuthMetadata):
    """Keys of both types."""

    bootstrap_servers: Annotated[list[str], sources(META, ENV)]
    consumer_group: Annotated[str, sources(META, ENV)]
    partition_limitation: Annotated[list[int], ranges()] = []
    lag_threshold: Annotated[int, Field(gt=0), Target()] = 10
    activation_lag_threshold: Annotated[int, Field(ge=0), Activation()] = 0
    offset_reset_policy: ResetPolicy = "latest"
    allow_idle_consumers: bool = False
    exclude_persistent_lag: bool = False
    scale_to_zero_on_invalid_offset: bool = False
    limit_to_partitions_with_lag: bool = False
    ensure_even_distribution_of_partitions: bool = False
    username: Annotated[SecretStr, sources(AUTH)] = _NONE
    password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    aws_region: str = ""

    @model_validator(mode="after")
    def _check_limits(self) -> "GroupLagMetadata":
        if self.allow_idle_consumers and self.limit_to_partitions_with_lag:
            raise ValueError("allowIdleConsumers and limitToPartitionsWithLag cannot be set simultaneously: keep one")
        return self

    @property
    def limits_to_none(self) -> bool:
        """`partitionLimitation` is given, and its ranges hold no number: they end before they begin."""
        return "partition_limitation" in self.model_fields_set and not self.partition_limitation

    def rules(self) -> LagRules:
        """How lag becomes a metric."""
        return LagRules(
            threshold=self.lag_threshold,
            reset=self.offset_reset_policy,
            allow_idle_consumers=self.allow_idle_consumers,
            exclude_persistent_lag=self.exclude_persistent_lag,
            zero_on_invalid_offset=self.scale_to_zero_on_invalid_offset,
            limit_to_partitions_with_lag=self.limit_to_partitions_with_lag,
            even_distribution=self.ensure_even_distribution_of_partitions,
        )

    def tls_settings(self, *, unsafe: bool = False) -> TlsSettings:
        """TLS settings of a cluster. Raises ValueError for half a client certificate."""
        cert, key = self.cert.get_secret_value(), self.key.get_secret_value()
        if bool(cert) != bool(key):
            raise ValueError("cert and key belong together: give both or none")
        key_password = self.key_password.get_secret_value()
        return TlsSettings(ca=self.ca, cert=cert, key=key, key_password=key_password, unsafe=unsafe)

    def require(self, why: str, *keys: str) -> None:
        """Raises ValueError for fields that are empty; `keys` are as on the wire."""
        names = {key.name: key.field for key in self.declared_keys()}
        lacking = [key for key in keys if not _text(getattr(self, names[key]))]
        if lacking:
            raise ValueError(f"no {' and no '.join(lacking)} given, which {why} needs: add it")


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerGrant:
    """Source of OAUTHBEARER tokens: an OAuth server that grants them for user and password."""

    endpoint: str
    scopes: tuple[str, ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MskIdentity:
    """Source of OAUTHBEARER tokens: a signature of AWS for one region."""

    region: str
    identity: aws.AwsIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaServers:
    """A cluster as one user: triggers of a namespace with equal ones share connections and questions."""

    bootstrap: tuple[str, ...]
    tls: TlsSettings | None = None
    mechanism: Mechanism | None = None
    username: SecretStr = _NONE
    password: SecretStr = _NONE
    tokens: BearerGrant | MskIdentity | None = None
    timeout: float

    def key(self, tenant: str, use: str) -> SharingKey:
        """Key under which connections, or another `use`, are shared: by all tenants unless there is a credential."""
        tls = self.tls or TlsSettings()
        what = ("kafka", use, ",".join(self.bootstrap), self.tls is not None, tls.ca, tls.unsafe, self.timeout)
        return sharing_key(tenant, what, self.mechanism, self.username, self.password, self._grant(), *tls.credential)

    def _grant(self) -> str:
        match self.tokens:
            case BearerGrant() as grant:
                return repr((grant.endpoint, grant.scopes, grant.extensions))
            case MskIdentity() as msk:
                return f"{msk.region} {aws.digest_of(msk.identity).value.hex()}"
        return ""
