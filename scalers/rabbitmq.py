"""Scale on the messages or the message rates of a RabbitMQ queue, or of all queues whose names match."""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote_plus

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, check_target, sharing_key
from keda_py.sdk.scaler import Reading, Scaler, ScalerError
from scalers.shared.http_answer import HttpQuestion
from scalers.shared.rabbitmq.amqp import AmqpQueues, AmqpServer, amqp_queues
from scalers.shared.rabbitmq.counts import Counts, Row, combined, counts_of
from scalers.shared.rabbitmq.management import Management
from scalers.shared.rabbitmq.metadata import RabbitmqMetadata
from scalers.shared.rabbitmq.proof import basic_header, signer_of

_OPERATIONS = ("sum", "avg", "max")


class RabbitMQScaler(Scaler[RabbitmqMetadata]):
    """All triggers on one vhost as one user share a connection, and few questions per poll."""

    _management: Management
    _amqp: AmqpQueues

    def __init__(self, metadata: RabbitmqMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(self.target, "value", context)
        self._address = metadata.address
        self._tls = metadata.tls_settings()
        if self._tls != TlsSettings():
            context.tls_context(self._tls)  # what is no certificate is refused at once
        self._by: Literal["amqp", "http"] = metadata.chosen_protocol
        self._batch_key = self._key()

    @property
    def metric_name(self) -> str:
        """`rabbitmq-<queueName>`, escaped as in a URL."""
        return f"rabbitmq-{quote_plus(self.metadata.queue_name)}"

    @property
    def target(self) -> float:
        """`value`, `queueLength` as it was called once, or 20."""
        return self.metadata.target

    @property
    def cautions(self) -> tuple[str, ...]:
        """Keys that do nothing, or fail each poll as in KEDA."""
        metadata, sentences = self.metadata, []
        if metadata.use_regex and metadata.operation not in _OPERATIONS:
            sentences.append(f"operation {metadata.operation} is none of {', '.join(_OPERATIONS)}: each poll fails")
        if metadata.ca and metadata.tls != "enable":
            sentences.append("ca does nothing while tls in the TriggerAuthentication is not enable")
        if metadata.workload_identity_resource and self.context.pod_identity.provider != "azure-workload":
            sentences.append("workloadIdentityResource does nothing without podIdentity azure-workload")
        return tuple(sentences)

    async def open(self) -> None:
        """Join the connection of this vhost and user; the first reading opens it."""
        if self._by == "amqp":
            self._amqp = await amqp_queues(self._server, self.context)
            return
        tls = None if self._tls == TlsSettings() else self.context.tls_context(self._tls)
        question = HttpQuestion(
            url=self._address.api, headers=basic_header(self.metadata), timeout=self.metadata.timeout, tls=tls
        )
        signer = await signer_of(self.metadata, self.context)
        self._management = Management(self.context, question, signer, self.timeout)

    async def read(self) -> Reading:
        """Ask now; a missing queue is an error, a pattern that no queue matches is 0."""
        if self.metadata.use_regex:
            rows = await self._management.matching(self.metadata.queue_name, self.metadata.page_size)
            return self._reading(combined([self._counts(row) for row in rows], self.metadata.operation))
        if self._by == "http":
            return self._reading(self._counts(await self._management.queue(self.metadata.queue_name)))
        return await super().read()

    @property
    def batch_key(self) -> SharingKey | None:
        """Server, vhost, user, TLS and time-out; None for a pattern, which is a question of its own."""
        return self._batch_key

    @property
    def asked_often_at_zero(self) -> bool:
        """Say yes for AMQP only: the management interface counts every few seconds, and each question costs it much."""
        return self._by == "amqp"

    async def read_batch(self, scalers: "Sequence[Scaler[RabbitmqMetadata]]") -> "Sequence[Reading | ScalerError]":
        """All queues of this vhost in few questions, or through one channel."""
        ours = [scaler for scaler in scalers if isinstance(scaler, RabbitMQScaler)]
        names = [scaler.metadata.queue_name for scaler in ours]
        if self._by == "amqp":
            with self.context.clock.busy():
                lengths = await self._amqp.lengths(names)
            return [
                one if isinstance(one, ScalerError) else scaler._reading(Counts(messages=one))
                for scaler, one in zip(ours, lengths, strict=True)
            ]
        rows = await self._management.named(names)
        return [
            row if isinstance(row, ScalerError) else scaler._reading(scaler._counts(row))
            for scaler, row in zip(ours, rows, strict=True)
        ]

    def _counts(self, row: Row) -> Counts:
        return counts_of(row, ready_only=self.metadata.exclude_unacknowledged)

    def _reading(self, counts: Counts) -> Reading:
        value, active = counts.measured(self.metadata.measured_mode, self.metadata.activation_value)
        return Reading(value=value, active=active)

    @property
    def _server(self) -> AmqpServer:
        user, password = self.metadata.credentials
        return AmqpServer(address=self._address, username=user, password=password, tls=self._tls, timeout=self.timeout)

    def _key(self) -> SharingKey | None:
        if self.metadata.use_regex:
            return None
        identity = self.metadata.identity(self.context.pod_identity)
        what = ("rabbitmq", self._by, self._address.api, self.timeout, self._tls.ca, self._tls.unsafe)
        return sharing_key(self.context.namespace, what, *identity, *self._tls.credential)
