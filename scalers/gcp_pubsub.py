"""Scale on a metric of a Google Pub/Sub subscription or topic, as Cloud Monitoring has it."""

from datetime import timedelta
from typing import Annotated, Literal

import re2

from keda_py.sdk.advanced import META, ScalerContext, named, removed
from keda_py.sdk.scaler import ENV, Activation, ConfigError, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.google.monitoring import CloudMonitoring, reading

_FULL_NAME = re2.compile(r"projects/([^/]+)/(?:subscriptions|topics)/([^/]+)")
_PERCENTILE = re2.compile(r"percentile([0-9]{1,2})")
_FUNCTIONS = ("mean", "median", "variance", "stddev", "sum", "count")
_HORIZON, _HORIZON_OF_AGGREGATION = timedelta(minutes=2), timedelta(minutes=5)


class GcpPubsubMetadata(GcpAuthMetadata):
    """Keys of `gcp-pubsub`; either `subscriptionName` or `topicName`."""

    subscription_size: Annotated[str, removed("'subscriptionSize' is removed: use 'mode' and 'value' instead.")] = ""
    mode: str = "SubscriptionSize"
    value: Annotated[float, Target()] = 10.0
    activation_value: Annotated[float, Activation()] = 0.0
    aggregation: str = ""
    time_horizon: timedelta | None = None
    value_if_null: float | None = None
    subscription_name: Annotated[str, named("subscriptionName"), sources(META, ENV)] = ""
    topic_name: Annotated[str, named("topicName"), sources(META, ENV)] = ""


class GcpPubsubScaler(Scaler[GcpPubsubMetadata]):
    """The newest point of the metric that `mode` names."""

    _monitoring: CloudMonitoring

    def __init__(self, metadata: GcpPubsubMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        required_gcp_identity(metadata, context.pod_identity)
        if bool(metadata.subscription_name) == bool(metadata.topic_name):
            message = "exactly one of subscription or topic name must be given: set subscriptionName or topicName"
            raise ConfigError(message, field="subscriptionName")
        self._kind: Literal["subscription", "topic"] = "subscription" if metadata.subscription_name else "topic"
        self._name = metadata.subscription_name or metadata.topic_name

    @property
    def metric_name(self) -> str:
        """`gcp-ps-<subscriptionName or topicName>`."""
        return f"gcp-ps-{self._name}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, these fail each poll, not the ScaledObject."""
        found = []
        if self.metadata.aggregation and not _aggregate(self.metadata.aggregation):
            found.append(_UNSUPPORTED.format(self.metadata.aggregation))
        if self._kind == "topic" and self.metadata.mode == "SubscriptionSize":
            found.append("mode: a topic has no SubscriptionSize: write a metric of topics, such as SendRequestCount")
        return tuple(found)

    async def open(self) -> None:
        """Share the tokens of this identity."""
        self._monitoring = await CloudMonitoring.open(self.context, self.metadata)

    async def read(self) -> Reading:
        """The point now; no series counts as `valueIfNull`, or is an error."""
        full = _FULL_NAME.fullmatch(self._name)
        project, name = full.groups() if full else (await self._monitoring.project(), self._name)
        query = self._query(project, name)
        return reading(await self._monitoring.query(project, query), self.metadata.value_if_null, f"query {query}")

    def _query(self, project: str, name: str) -> str:
        """Make the query in MQL. Raises ScalerError."""
        kind, aggregation = self._kind, self.metadata.aggregation
        horizon = self.metadata.time_horizon or (_HORIZON_OF_AGGREGATION if aggregation else _HORIZON)
        query = (
            f"fetch pubsub_{kind} | metric 'pubsub.googleapis.com/{kind}/{_metric(self.metadata.mode)}'"
            f" | filter (resource.project_id == {_quoted(project)} && resource.{kind}_id == {_quoted(name)})"
            f" | within {max(1, int(horizon.total_seconds()))}s"
        )
        if not aggregation:
            return query
        if not (aggregate := _aggregate(aggregation)):
            raise ScalerError(_UNSUPPORTED.format(aggregation))
        return f"{query} | align delta(3m) | every 3m | group_by [], {aggregate}"


_UNSUPPORTED = f"aggregation: {{}} is not supported: write percentile1 to percentile99, {', '.join(_FUNCTIONS)}"


def _metric(mode: str) -> str:
    """`OldestUnackedMessageAge` is `oldest_unacked_message_age`."""
    if mode == "SubscriptionSize":
        return "num_undelivered_messages"
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in mode)
    return "".join(letter if letter.isalnum() else "_" for letter in words).strip("_")


def _aggregate(name: str) -> str:
    """The aggregator of MQL, "" if there is no such."""
    if percentile := _PERCENTILE.fullmatch(name):
        return f"percentile(value, {int(percentile[1])})"
    return f"{name}(value)" if name in _FUNCTIONS else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
