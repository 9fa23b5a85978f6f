"""Scale on the newest measure of a metric of OpenStack's Gnocchi."""

from datetime import timedelta
from typing import Annotated

import httpx

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext, named
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target
from scalers.shared.answers.json_values import INLINE_BYTES, read_json
from scalers.shared.http_answer import HttpQuestion, ask
from scalers.shared.openstack.keystone import Keystone, KeystoneGrant, KeystoneMetadata, check_keystone, keystone

_LONGEST = 300.0


class OpenstackMetricMetadata(KeystoneMetadata):
    """Keys of `openstack-metric`."""

    metrics_url: Annotated[str, named("metricsURL")]
    metric_id: Annotated[str, named("metricID")]
    aggregation_method: str
    granularity: int
    threshold: Annotated[float, Target()] = 0.0
    activation_threshold: Annotated[float, Activation()] = 0.0
    timeout: int = 30


class OpenstackMetricScaler(Scaler[OpenstackMetricMetadata]):
    """Asks whether the token is still good, and then for the measures since one granularity ago."""

    metric_name = "openstack-metric-{metric_id}"
    _keystone: Keystone

    def __init__(self, metadata: OpenstackMetricMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_keystone(metadata)
        if metadata.granularity < 1:
            raise ConfigError("granularity value is less than 1: write seconds", field="granularity")

    @property
    def timeout(self) -> float:
        return min(float(self.metadata.timeout), _LONGEST) if self.metadata.timeout > 0 else self.context.http_timeout

    async def open(self) -> None:
        """Share the token of this credential and request it, within the time-out of any other open."""
        self._keystone = await keystone(self.context, self.metadata, self.timeout)
        await self._keystone.granted(self.context.http_timeout)

    async def read(self) -> Reading:
        """The measure now; no measure counts as 0, as in KEDA."""
        granted = await self._good_token()
        answer = await ask(self.context, self._question(granted))
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"metric {self.metadata.metric_id}: status {answer.status_code}")
        value = await self.context.parse(newest_measure, answer.content, inline_bytes=INLINE_BYTES)
        if value is None:
            return Reading(value=0.0, note="no measure counts as 0", empty=True)
        return Reading(value=value)

    async def _good_token(self) -> KeystoneGrant:
        granted = await self._keystone.granted()
        token = granted.token.get_secret_value()
        headers = {"X-Auth-Token": token, "X-Subject-Token": token, "Connection": "close"}
        question = HttpQuestion(
            method="HEAD", url=self._keystone.url, headers=headers, timeout=timedelta(seconds=self.timeout)
        )
        answer = await ask(self.context, question)
        if answer.is_success:
            return granted
        self._keystone.refused(granted)
        return await self._keystone.granted()

    def _question(self, granted: KeystoneGrant) -> HttpQuestion:
        metadata = self.metadata
        start = self.context.clock.now() - timedelta(minutes=max(0, metadata.granularity // 60 - 1))
        url = httpx.URL(metadata.metrics_url)
        path = f"{url.path.rstrip('/')}/{path_segment('metricID', metadata.metric_id)}/measures"
        return HttpQuestion(
            url=str(url.copy_with(path=path)),
            parameters={
                "granularity": str(metadata.granularity),
                "aggregation": metadata.aggregation_method,
                "start": start.strftime("%Y-%m-%dT%H:%M:00"),
            },
            headers={"X-Auth-Token": granted.token.get_secret_value()},
            timeout=timedelta(seconds=self.timeout),
        )


def newest_measure(text: bytes) -> float | None:
    """The value of the last one, [time, granularity, value]; None without any. Raises ScalerError."""
    measures = read_json(text)
    if not isinstance(measures, list):
        raise ScalerError("the answer is no list of measures")
    if not measures:
        return None
    match measures[-1]:
        case [_, _, bool()]:
            pass
        case [_, _, int() | float() as value]:
            return float(value)
    raise ScalerError("the last measure is not [time, granularity, number]")
