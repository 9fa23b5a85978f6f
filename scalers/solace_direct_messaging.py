"""Scale on what Solace PubSub+ sends to clients of direct messages, and on what waits for them."""

from collections.abc import Callable, Sequence
from typing import Annotated, Final, Self
from xml.sax.saxutils import escape

import httpx
from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import ExternalMetric, ScalerContext, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, ScalerError, TriggerMetadata, sources
from scalers.shared.brokers.semp import XML_INLINE_BYTES, client_rates, queued_for_clients
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, ask

_WORK_BYTES: Final = 2048
"""A unit of work in the length of a queue."""


class SolaceDirectMessagingMetadata(TriggerMetadata):
    """Keys of `solace-direct-messaging`."""

    solace_semp_base_url: Annotated[list[str], named("solaceSempBaseURL")]
    username: Annotated[SecretStr, sources(AUTH, ENV)]
    password: Annotated[SecretStr, sources(AUTH, ENV)]
    message_vpn: str
    client_name_pattern: str
    unsafe_ssl: Annotated[bool, named("unsafeSSL")] = False
    queued_messages_factor: Annotated[int, Field(gt=0, le=100)] = 3
    aggregated_client_tx_byte_rate_target: int = 0
    aggregated_client_average_tx_byte_rate_target: int = 0
    aggregated_client_tx_msg_rate_target: int = 0
    aggregated_client_average_tx_msg_rate_target: int = 0
    activation_aggregated_client_tx_byte_rate_target: int = 0
    activation_aggregated_client_average_tx_byte_rate_target: int = 0
    activation_aggregated_client_tx_msg_rate_target: int = 0
    activation_aggregated_client_average_tx_msg_rate_target: int = 0

    @property
    def targets(self) -> dict[str, int]:
        """Targets by the end of the metric's name, in the order of `client_rates`."""
        return {
            "aggregatedClientTxByteRateTarget": self.aggregated_client_tx_byte_rate_target,
            "aggregatedClientAverageTxByteRateTarget": self.aggregated_client_average_tx_byte_rate_target,
            "aggregatedClientTxMsgRateTarget": self.aggregated_client_tx_msg_rate_target,
            "aggregatedClientAverageTxMsgRateTarget": self.aggregated_client_average_tx_msg_rate_target,
        }

    @property
    def activations(self) -> tuple[int, ...]:
        """Activation values, which have no effect, as in KEDA."""
        return (
            self.activation_aggregated_client_tx_byte_rate_target,
            self.activation_aggregated_client_average_tx_byte_rate_target,
            self.activation_aggregated_client_tx_msg_rate_target,
            self.activation_aggregated_client_average_tx_msg_rate_target,
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if max(self.targets.values()) < 1:
            raise ValueError(f"no target value found in the scaler configuration: set {' or '.join(self.targets)}")
        if "*" in self.client_name_pattern:
            raise ValueError("clientNamePattern: leave out '*': it is put before and after the pattern anyway")
        for url in self.solace_semp_base_url:
            if not _is_http(url):
                raise ValueError("solaceSempBaseURL: is not an address: write http://HOST:PORT or https://HOST:PORT")
        return self


def _is_http(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host)


class SolaceDirectMessagingScaler(Scaler[SolaceDirectMessagingMetadata]):
    """Two POSTs for each reading: the rates of the clients, and what waits for them."""

    def __init__(self, metadata: SolaceDirectMessagingMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None
        self._headers = {"Content-Type": "application/xml", **basic(metadata.username, metadata.password)}
        self._bases = [base.rstrip("/") for base in metadata.solace_semp_base_url]
        name = f"<name>*{escape(metadata.client_name_pattern)}*</name>"
        self._stats = f"<rpc><show><client>{name}<stats/></client></show></rpc>".encode()
        self._queues = f"<rpc><show><client>{name}<stats></stats><queues></queues></client></show></rpc>".encode()

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """One metric for each target that is set: `solace-dm-<clientNamePattern>-<key of the target>`."""
        targets = self.metadata.targets.items()
        return tuple(ExternalMetric(name=self._name(key), target=target) for key, target in targets if target > 0)

    def _name(self, key: str) -> str:
        return f"solace-dm-{self.metadata.client_name_pattern}-{key}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Keys that do nothing, as in KEDA."""
        if not any(self.metadata.activations):
            return ()
        return ("activationAggregatedClient...Target have no effect: this trigger is always active",)

    async def read_metric(self, spec: ExternalMetric) -> Reading:
        """A rate, and what is in the queues times a factor; always active, as in KEDA."""
        rates = await self._ask(self._stats, client_rates, "reading client stats failed")
        messages, work = await self._ask(self._queues, queued_for_clients, "reading client stats queue failed")
        factor = self.metadata.queued_messages_factor
        waiting = (work * _WORK_BYTES * factor, work * _WORK_BYTES * factor, messages * factor, messages * factor)
        values = zip(self.metadata.targets, rates, waiting, strict=True)
        value = next(rate + more for key, rate, more in values if self._name(key) == spec.name)
        return Reading(value=float(value), active=True)

    async def _ask(self, command: bytes, parse: Callable[[bytes, str], Sequence[int]], what: str) -> Sequence[int]:
        """The answer of the first broker that gives one."""
        errors = []
        for base in self._bases:
            question = HttpQuestion(
                url=f"{base}/SEMP", method="POST", content=command, headers=self._headers, tls=self._tls
            )
            try:
                answer = await ask(self.context, question)
                if not answer.is_success:
                    raise ScalerError(f"status {answer.status_code}")
                return await self.context.parse(
                    parse, answer.content, self.metadata.message_vpn, inline_bytes=XML_INLINE_BYTES
                )
            except ScalerError as error:
                errors.append(str(error))
        raise ScalerError(f"{what}: {'; '.join(errors)}")
