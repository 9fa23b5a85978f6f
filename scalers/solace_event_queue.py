"""Scale on a queue of Solace PubSub+: its messages, the size of its spool, or what it receives in a second."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import SecretStr, model_validator

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META, ExternalMetric, ScalerContext, named
from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, ScalerError, TriggerMetadata, sources
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.brokers.semp import queue_counts, vpn_state
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, get

_MEGABYTE: Final = 1024 * 1024
_MOST: Final = 2**63
_FIELDS: Final = "msgs,msgSpoolUsage,averageRxMsgRate"


class SolaceEventQueueMetadata(TriggerMetadata):
    """Keys of `solace-event-queue`; the spool is in megabytes here, in bytes in the metric."""

    solace_semp_base_url: Annotated[list[str], named("solaceSempBaseURL")]
    message_vpn: str
    queue_name: str
    username: Annotated[SecretStr, sources(AUTH, META, ENV)]
    password: Annotated[SecretStr, sources(AUTH, META, ENV)]
    message_count_target: int = 0
    message_spool_usage_target: int = 0
    message_receive_rate_target: int = 0
    activation_message_count_target: int = 0
    activation_message_spool_usage_target: int = 0
    activation_message_receive_rate_target: int = 0

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        for key, megabytes in (
            ("messageSpoolUsageTarget", self.message_spool_usage_target),
            ("activationMessageSpoolUsageTarget", self.activation_message_spool_usage_target),
        ):
            if not -_MOST <= megabytes * _MEGABYTE < _MOST:
                raise ValueError(f"{key}: is out of range: the number of bytes fits in 64 bits")
        if max(self.message_count_target, self.message_spool_usage_target, self.message_receive_rate_target) < 1:
            keys = "messageCountTarget, messageSpoolUsageTarget or messageReceiveRateTarget"
            raise ValueError(f"no target value found in the scaler configuration: set {keys}, 1 or more")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    """One of the three numbers of a queue: the end of its metric's name, its target, and when it is active."""

    suffix: str
    target: int
    activation: int


class SolaceEventQueueScaler(Scaler[SolaceEventQueueMetadata]):
    """Two GETs for each reading: is the VPN active there, and how is the queue."""

    def __init__(self, metadata: SolaceEventQueueMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._headers = basic(metadata.username, metadata.password)
        self._bases = [base.rstrip("/") for base in metadata.solace_semp_base_url]
        self._vpn = f"/SEMP/v2/monitor/msgVpns/{path_segment('messageVpn', metadata.message_vpn)}"
        self._measures = (
            _Measure(
                suffix="msgcount",
                target=metadata.message_count_target,
                activation=metadata.activation_message_count_target,
            ),
            _Measure(
                suffix="msgspoolusage",
                target=metadata.message_spool_usage_target * _MEGABYTE,
                activation=metadata.activation_message_spool_usage_target * _MEGABYTE,
            ),
            _Measure(
                suffix="msgrcvrate",
                target=metadata.message_receive_rate_target,
                activation=metadata.activation_message_receive_rate_target,
            ),
        )

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """One metric for each target that is set: `solace-<queueName>-msgcount`, and so on."""
        return tuple(
            ExternalMetric(name=self._name(measure), target=measure.target)
            for measure in self._measures
            if measure.target > 0
        )

    def _name(self, measure: _Measure) -> str:
        return f"solace-{self.metadata.queue_name}-{measure.suffix}"

    async def read_metric(self, spec: ExternalMetric) -> Reading:
        """One number; active where any of the three is above its activation, as in KEDA."""
        counts = dict(zip(self._measures, await self._counts(), strict=True))
        active = any(count > measure.activation for measure, count in counts.items())
        value = next(count for measure, count in counts.items() if self._name(measure) == spec.name)
        return Reading(value=float(value), active=active)

    async def _counts(self) -> Sequence[int]:
        """Read the counts of the first broker that has the VPN, and ask it first from then on."""
        errors = []
        for base in tuple(self._bases):
            try:
                counts = await self._counts_at(base)
            except ScalerError as error:
                errors.append(str(error))
            else:
                self._bases = [base, *(other for other in self._bases if other != base)]
                return counts
        raise ScalerError(f"unable to collect metrics of queue {self.metadata.queue_name}: {'; '.join(errors)}")

    async def _counts_at(self, base: str) -> Sequence[int]:
        text = await self._get(f"{base}{self._vpn}", {"select": "state"})
        state = await self.context.parse(vpn_state, text, inline_bytes=INLINE_BYTES)
        if state != "up":
            raise ScalerError(f"message VPN {self.metadata.message_vpn} is not up ({state})")
        queue = f"{base}{self._vpn}/queues/{path_segment('queueName', self.metadata.queue_name)}"
        text = await self._get(queue, {"select": _FIELDS})
        return await self.context.parse(queue_counts, text, inline_bytes=INLINE_BYTES)

    async def _get(self, url: str, parameters: Mapping[str, str]) -> bytes:
        answer = await get(self.context, HttpQuestion(url=url, parameters=parameters, headers=self._headers))
        if not answer.is_success:
            raise ScalerError(f"semp request http status code: {answer.status_code}")
        return answer.content
