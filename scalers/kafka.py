"""Scale on the lag of a Kafka consumer group: messages that its topics hold and that it has not committed."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import re2
from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, named
from keda_py.sdk.scaler import AUTH, ENV, ConfigError, sources
from scalers.shared.aws.aws import aws_identity
from scalers.shared.kafka.metadata import (
    MECHANISMS,
    BearerGrant,
    GroupLagMetadata,
    KafkaServers,
    MskIdentity,
    Switch,
)
from scalers.shared.kafka.scaler import GroupLagScaler

_NONE = SecretStr("")
_ANY_VERSION = "1.0.0"
_PARTITIONS = 2**31
_VERSION = re2.compile(r"0\.[0-9]+\.[0-9]+\.[0-9]+|[1-9][0-9]*\.[0-9]+\.[0-9]+")
_KERBEROS = "sasl gssapi: Kerberos needs a library without wheels, and files of the operator's: use another mechanism"


class KafkaMetadata(GroupLagMetadata):
    """Keys of `kafka`."""

    topic: Annotated[str, sources(META, ENV)] = ""
    version: str = _ANY_VERSION
    tls: Annotated[Switch, sources(META, AUTH)] = "disable"
    unsafe_ssl: bool = False
    full_metadata: bool = True
    """Whether KEDA's client keeps what all topics of the cluster are; here only topics of the trigger are asked for."""
    sasl: Annotated[
        Literal["none", "plaintext", "scram_sha256", "scram_sha512", "oauthbearer", "gssapi"], sources(META, AUTH)
    ] = "none"
    sasl_token_provider: Annotated[Literal["bearer", "aws_msk_iam"], sources(META, AUTH)] = "bearer"
    scopes: Annotated[list[str], sources(AUTH)] = []
    oauth_token_endpoint_uri: Annotated[str, sources(AUTH)] = ""
    oauth_extensions: Annotated[dict[str, str], sources(AUTH)] = {}
    keytab: Annotated[SecretStr, sources(AUTH)] = _NONE
    realm: Annotated[str, sources(AUTH)] = ""
    kerberos_config: Annotated[SecretStr, sources(AUTH)] = _NONE
    kerberos_service_name: Annotated[str, sources(AUTH)] = "kafka"
    kerberos_disable_fast: Annotated[bool, named("kerberosDisableFAST"), sources(AUTH)] = False

    @model_validator(mode="after")
    def _check_version(self) -> Self:
        if not _VERSION.fullmatch(self.version):
            raise ValueError(f'version: "{self.version}" is no version of Kafka: write three numbers, such as 3.7.0')
        return self

    @model_validator(mode="after")
    def _check_partitions(self) -> Self:
        if self.topic and self.limits_to_none:
            raise ValueError("partitionLimitation: has a range that ends before it begins: write it as 1-3")
        if any(number >= _PARTITIONS for number in self.partition_limitation):
            raise ValueError("partitionLimitation: is out of range: the number of a partition fits in 32 bits")
        return self

    @model_validator(mode="after")
    def _check_topic(self) -> Self:
        for key, on in (
            ("limitToPartitionsWithLag", self.limit_to_partitions_with_lag),
            ("ensureEvenDistributionOfPartitions", self.ensure_even_distribution_of_partitions),
            ("fullMetadata false", not self.full_metadata),
        ):
            if on and not self.topic:
                raise ValueError(f"topic must be specified when using {key}")
        if self.limit_to_partitions_with_lag and self.ensure_even_distribution_of_partitions:
            both = "limitToPartitionsWithLag and ensureEvenDistributionOfPartitions"
            raise ValueError(f"{both} cannot be set simultaneously: keep one")
        return self

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if self.tls == "enable":
            self.tls_settings()
        match self.sasl:
            case "plaintext" | "scram_sha256" | "scram_sha512":
                self.require(f"sasl {self.sasl}", "username", "password")
            case "gssapi":
                self.require("sasl gssapi", "username", "realm", "kerberosConfig")
                if bool(self.password.get_secret_value()) == bool(self.keytab.get_secret_value()):
                    raise ValueError("exactly one of 'password' or 'keytab' must be provided for sasl gssapi")
            case "oauthbearer" if self.sasl_token_provider == "bearer":
                self.require("saslTokenProvider bearer", "username", "password", "oauthTokenEndpointUri")
            case "oauthbearer":
                self.require("saslTokenProvider aws_msk_iam", "awsRegion")
                if self.tls != "enable":
                    raise ValueError("tls: enable is required for saslTokenProvider aws_msk_iam")
        return self


class KafkaScaler(GroupLagScaler[KafkaMetadata]):
    """One topic, or all for which the group has committed offsets."""

    def topics(self) -> tuple[str, ...]:
        return (self.metadata.topic,) if self.metadata.topic else ()

    def partition_limitation(self) -> Sequence[int]:
        """`partitionLimitation`, which means nothing without a topic."""
        return self.metadata.partition_limitation if self.metadata.topic else ()

    def servers(self) -> KafkaServers:
        """`bootstrapServers`, as the user of `sasl`."""
        metadata = self.metadata
        mechanism = MECHANISMS.get(metadata.sasl)
        return KafkaServers(
            bootstrap=tuple(metadata.bootstrap_servers),
            tls=metadata.tls_settings(unsafe=metadata.unsafe_ssl) if metadata.tls == "enable" else None,
            mechanism=mechanism,
            username=metadata.username if mechanism else _NONE,
            password=metadata.password if mechanism else _NONE,
            tokens=self._tokens() if mechanism == "OAUTHBEARER" else None,
            timeout=self.context.http_timeout,
        )

    def _tokens(self) -> BearerGrant | MskIdentity:
        metadata = self.metadata
        if metadata.sasl_token_provider == "aws_msk_iam":
            return MskIdentity(region=metadata.aws_region, identity=aws_identity(metadata, self.context.pod_identity))
        return BearerGrant(
            endpoint=metadata.oauth_token_endpoint_uri,
            scopes=tuple(metadata.scopes),
            extensions=tuple(metadata.oauth_extensions.items()),
        )

    @property
    def cautions(self) -> Sequence[str]:
        """Keys that KEDA accepts and that do nothing, or cannot work here."""
        metadata, found = self.metadata, []
        if metadata.version != _ANY_VERSION:
            found.append("version has no effect: the protocol's version is agreed upon with each broker")
        if metadata.partition_limitation and not metadata.topic:
            found.append("partitionLimitation has no effect without topic")
        if "," in metadata.topic:
            found.append("topic names one topic, and no topic's name has a comma: type apache-kafka takes a list")
        if metadata.sasl == "gssapi":
            found.append(_KERBEROS)
        return found

    async def open(self) -> None:
        """Refuse Kerberos, then open as `apache-kafka` does. Raises ConfigError."""
        if self.metadata.sasl == "gssapi":
            raise ConfigError(_KERBEROS, field="sasl")
        await super().open()
