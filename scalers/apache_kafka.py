"""Scale on the lag of a Kafka consumer group, over one topic or a list of them."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, named
from keda_py.sdk.scaler import AUTH, ENV, sources
from scalers.shared.aws.aws import aws_identity
from scalers.shared.kafka.metadata import MECHANISMS, GroupLagMetadata, KafkaServers, MskIdentity, Switch
from scalers.shared.kafka.scaler import GroupLagScaler

Sasl = Literal["none", "plaintext", "scram_sha256", "scram_sha512", "gssapi", "aws_msk_iam"]
_NONE = SecretStr("")


class ApacheKafkaMetadata(GroupLagMetadata):
    """Keys of `apache-kafka`; `sasl` and `tls` stand in one of two places, not in both."""

    topic: Annotated[list[str], sources(META, ENV)] = []
    sasl: Sasl | None = None
    sasl_of_auth: Annotated[Sasl | None, named("sasl"), sources(AUTH)] = None
    tls: Switch | None = None
    tls_of_auth: Annotated[Switch | None, named("tls"), sources(AUTH)] = None

    @property
    def mechanism(self) -> Sasl:
        return self.sasl or self.sasl_of_auth or "none"

    @property
    def uses_tls(self) -> bool:
        return "enable" in (self.tls, self.tls_of_auth)

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        for key, places in (("sasl", (self.sasl, self.sasl_of_auth)), ("tls", (self.tls, self.tls_of_auth))):
            if all(places):
                raise ValueError(f"unable to set `{key}` in both ScaledObject and TriggerAuthentication: keep one")
        if self.limit_to_partitions_with_lag and not self.topic:
            raise ValueError("topic must be specified when using limitToPartitionsWithLag")
        if self.uses_tls:
            self.tls_settings()
        return self

    @model_validator(mode="after")
    def _check_sasl(self) -> Self:
        match self.mechanism:
            case "plaintext" | "scram_sha256" | "scram_sha512":
                self.require(f"sasl {self.mechanism}", "username", "password")
            case "gssapi":
                raise ValueError("sasl: gssapi is not supported: use another mechanism")
            case "aws_msk_iam":
                self.require("sasl aws_msk_iam", "awsRegion")
                if not self.uses_tls:
                    raise ValueError("tls: enable is required for sasl aws_msk_iam")
        return self


class ApacheKafkaScaler(GroupLagScaler[ApacheKafkaMetadata]):
    """The same lag as `kafka`; KEDA asks with another library."""

    def topics(self) -> tuple[str, ...]:
        return tuple(self.metadata.topic)

    def partition_limitation(self) -> Sequence[int]:
        """`partitionLimitation`, of each topic; without topics it means nothing."""
        return self.metadata.partition_limitation if self.metadata.topic else ()

    @property
    def cautions(self) -> Sequence[str]:
        """Keys that KEDA accepts and that do nothing."""
        metadata, found = self.metadata, []
        if metadata.limits_to_none:
            found.append("partitionLimitation has a range that ends before it begins, so that all partitions count")
        if metadata.partition_limitation and not metadata.topic:
            found.append("partitionLimitation has no effect without topic")
        return found

    def servers(self) -> KafkaServers:
        """`bootstrapServers`, as the user of `sasl`."""
        metadata = self.metadata
        mechanism, tokens = MECHANISMS.get(metadata.mechanism), None
        if metadata.mechanism == "aws_msk_iam":
            identity = aws_identity(metadata, self.context.pod_identity)
            tokens = MskIdentity(region=metadata.aws_region, identity=identity)
        return KafkaServers(
            bootstrap=tuple(metadata.bootstrap_servers),
            tls=metadata.tls_settings() if metadata.uses_tls else None,
            mechanism=mechanism,
            username=metadata.username if mechanism else _NONE,
            password=metadata.password if mechanism else _NONE,
            tokens=tokens,
            timeout=self.context.http_timeout,
        )
