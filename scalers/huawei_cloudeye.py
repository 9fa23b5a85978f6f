"""Scale on a metric of Huawei Cloud Eye."""

from datetime import timedelta
from typing import Annotated, Literal

import orjson
from pydantic import SecretStr

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import EmptyAnswer, ScalerContext, named, removed
from keda_py.sdk.scaler import (
    AUTH,
    Activation,
    ConfigError,
    Reading,
    Scaler,
    ScalerError,
    Target,
    TriggerMetadata,
    sources,
)
from scalers.shared.answers.json_fields import INLINE_BYTES, children, json_object, number
from scalers.shared.credentials.huawei_signature import huawei_headers
from scalers.shared.http_answer import HttpQuestion, ask


class HuaweiCloudeyeMetadata(TriggerMetadata):
    """Keys of `huawei-cloudeye`; with a key pair, no identity endpoint and no domain are asked."""

    namespace: str
    metric_name: str
    dimension_name: str
    dimension_value: str
    target_metric_value: Annotated[float, Target()]
    activation_target_metric_value: Annotated[float, Activation()] = 0.0
    min_metric_value: Annotated[str, removed("Use 'activationTargetMetricValue' instead of 'minMetricValue'.")] = ""
    metric_collection_time: int = 300
    metric_filter: Literal["average", "max", "min", "sum"] = "average"
    metric_period: str = "300"
    identity_endpoint: Annotated[str, named("IdentityEndpoint"), sources(AUTH)] = ""
    project_id: Annotated[str, named("ProjectID"), sources(AUTH)] = ""
    domain_id: Annotated[str, named("DomainID"), sources(AUTH)] = ""
    region: Annotated[str, named("Region"), sources(AUTH)] = ""
    domain: Annotated[str, named("Domain"), sources(AUTH)] = ""
    cloud: Annotated[str, named("Cloud"), sources(AUTH)] = "myhuaweicloud.com"
    access_key: Annotated[SecretStr, named("AccessKey"), sources(AUTH)] = SecretStr("")
    secret_key: Annotated[SecretStr, named("SecretKey"), sources(AUTH)] = SecretStr("")


class HuaweiCloudeyeScaler(Scaler[HuaweiCloudeyeMetadata]):
    """The newest value of the time that is looked at."""

    metric_name = "huawei-cloudeye-{metric_name}"

    def __init__(self, metadata: HuaweiCloudeyeMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        needed = {
            "ProjectID": metadata.project_id,
            "Region": metadata.region,
            "AccessKey": metadata.access_key.get_secret_value(),
            "SecretKey": metadata.secret_key.get_secret_value(),
        }
        for key, value in needed.items():
            if not value:
                raise ConfigError(f"{key} not found: give it in a TriggerAuthentication", field=key)
        host = f"ces.{metadata.region}.{metadata.cloud}"
        self._url = f"https://{host}/V1.0/{path_segment('ProjectID', metadata.project_id)}/batch-query-metric-data"

    async def read(self) -> Reading:
        """The value now; a metric without one is an error."""
        answer = await ask(self.context, self._question())
        if not answer.is_success:
            raise ScalerError(f"metric {self.metadata.metric_name}: status {answer.status_code}")
        value = await self.context.parse(
            newest_value, answer.content, self.metadata.metric_filter, inline_bytes=INLINE_BYTES
        )
        if value is None:
            raise EmptyAnswer(f"metric {self.metadata.metric_name} has no value in metricCollectionTime")
        return Reading(value=value)

    def _question(self) -> HttpQuestion:
        metadata, now = self.metadata, self.context.clock.now()
        start = now - timedelta(seconds=metadata.metric_collection_time)
        dimension = {"name": metadata.dimension_name, "value": metadata.dimension_value}
        metric = {"namespace": metadata.namespace, "metric_name": metadata.metric_name, "dimensions": [dimension]}
        body = orjson.dumps(
            {
                "metrics": [metric],
                "from": int(start.timestamp() * 1000),
                "to": int(now.timestamp() * 1000),
                "period": metadata.metric_period,
                "filter": metadata.metric_filter,
            }
        )
        headers = huawei_headers(self._url, body, metadata.access_key, metadata.secret_key, now)
        project = {"X-Project-Id": metadata.project_id}
        return HttpQuestion(method="POST", url=self._url, content=body, headers={**headers, **project})


def newest_value(text: bytes, kind: str) -> float | None:
    """Read the newest value of the first metric; None without a value of this kind. Raises ScalerError."""
    for metric in children(json_object(text), "metrics")[:1]:
        points = [point for point in children(metric, "datapoints") if point.get(kind) is not None]
        if points:
            return number(max(points, key=lambda point: number(point, "timestamp")), kind)
    return None
