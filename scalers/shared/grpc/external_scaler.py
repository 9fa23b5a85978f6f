"""Common part of `external` and `external-push`: a scaler elsewhere, asked by KEDA's protocol."""

from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import PrivateAttr, SecretStr

from keda_py.net.secret_texts import EMPTY, Secrets
from keda_py.sdk import external_protocol as protocol
from keda_py.sdk.advanced import LONGEST_TIMEOUT, ExternalMetric, ScalerContext, TlsSettings, named
from keda_py.sdk.messages import parse
from keda_py.sdk.metadata.values import read_duration
from keda_py.sdk.scaler import AUTH, ConfigError, Reading, Scaler, ScalerError, TriggerMetadata, sources
from scalers.shared.grpc.connection import GrpcConnection, GrpcServer, connect, host_and_port

_FROM_ENV = "FromEnv"
_MOST_METRICS = 100
_USUAL_PORT = 443
"""Of an address without one, as in gRPC's own clients."""


class ExternalMetadata(TriggerMetadata):
    """Keys of both types; every other key is the scaler's, and passed on to it, as is `timeout`.

    That key is ours as well, where it is a duration longer than the default: a scaler may mean something else by it.
    """

    passes_unknown_keys = True

    scaler_address: str
    enable_tls: Annotated[bool, named("enableTLS")] = False
    unsafe_ssl: bool = False
    ca_cert: Annotated[str, sources(AUTH)] = ""
    tls_client_cert: Annotated[SecretStr, sources(AUTH)] = EMPTY
    tls_client_key: Annotated[SecretStr, sources(AUTH)] = EMPTY
    timeout: str = ""

    _passed: Mapping[str, SecretStr] = PrivateAttr(default_factory=dict)

    @classmethod
    def parse(cls, metadata: Mapping[str, str], env: Secrets, auth: Secrets, *, trigger_type: str = "") -> Self:
        """Parse as for every type, and keep the metadata that is passed on."""
        parsed = super().parse(metadata, env, auth, trigger_type=trigger_type)
        parsed._passed = _resolved(metadata, env)
        return parsed

    @property
    def passed(self) -> Mapping[str, SecretStr]:
        """All metadata, with what `...FromEnv` names in place of the name."""
        return self._passed

    def tls_settings(self) -> TlsSettings | None:
        """Return None for plain text."""
        cert, key = self.tls_client_cert.get_secret_value(), self.tls_client_key.get_secret_value()
        if not (self.enable_tls or self.ca_cert or cert or key):
            return None
        return TlsSettings(ca=self.ca_cert, cert=cert, key=key, unsafe=self.unsafe_ssl)


def _resolved(metadata: Mapping[str, str], env: Secrets) -> Mapping[str, SecretStr]:
    """Resolve variables; one that is empty or missing is left out."""
    passed = {}
    for key, text in metadata.items():
        value = env.get(text, EMPTY) if key.endswith(_FROM_ENV) else SecretStr(text)
        if value.get_secret_value() or not key.endswith(_FROM_ENV):
            passed[key] = value
    return passed


M = TypeVar("M", bound=ExternalMetadata)


class ExternalMetricsScaler(Scaler[M]):
    """A scaler whose metrics, values and activity a server decides."""

    _connection: GrpcConnection

    def __init__(self, metadata: M, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if context.metric_type == "Utilization":
            message = "metricType: Utilization is unsupported for external metrics: write AverageValue or Value"
            raise ConfigError(message, field="metricType")
        address = host_and_port(metadata.scaler_address, "scalerAddress", _USUAL_PORT)
        self._server = GrpcServer(address=address, tls=metadata.tls_settings())

    @property
    def timeout(self) -> float:
        """Never less than the default, which a key of the scaler's own that is called so would cut short."""
        try:
            own = read_duration(self.metadata.timeout).total_seconds()
        except ValueError:
            own = 0.0
        return max(self.context.http_timeout, min(own, LONGEST_TIMEOUT))

    async def open(self) -> None:
        """Share the connection to this server. Raises ConfigError for certificates that cannot be used."""
        self._connection = await connect(self._server, self.context)

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """Ask GetMetricSpec; a float target counts before an integer one. Raises ScalerError."""
        answer = await self._ask(protocol.GET_METRIC_SPEC, self._reference(), "GetMetricSpecResponse")
        return self._specs_of(answer, protocol.GET_METRIC_SPEC)

    def _specs_of(self, answer: Any, method: str) -> tuple[ExternalMetric, ...]:
        """Raises ScalerError."""
        if not 0 < len(answer.metricSpecs) <= _MOST_METRICS:
            said = f"{method} has {len(answer.metricSpecs)} metrics"
            raise ScalerError(f"{self._server.address}: {said}: it must have 1 to {_MOST_METRICS}")
        return tuple(self._spec(metric, method) for metric in answer.metricSpecs)

    def _spec(self, metric: Any, method: str) -> ExternalMetric:
        target = metric.targetSizeFloat if metric.targetSizeFloat > 0 else metric.targetSize
        if target <= 0 or not metric.metricName:
            said = f'metric "{metric.metricName}" with target {target:g}'
            raise ScalerError(f"{self._server.address}: {method} has a {said}: an HPA needs a name and more than 0")
        return ExternalMetric(name=metric.metricName, target=target)

    async def read_metric(self, spec: ExternalMetric) -> Reading:
        """Add up the values of one metric, as an HPA does, and ask whether the server calls it active."""
        question = protocol.messages()["GetMetricsRequest"](scaledObjectRef=self._reference(), metricName=spec.name)
        answer = await self._ask(protocol.GET_METRICS, question, "GetMetricsResponse")
        if not answer.metricValues:
            raise ScalerError(f'{self._server.address}: GetMetrics has no value of "{spec.name}"')
        # A number of proto3 is never absent: a scaler that knows only the older, whole one leaves 0 in the newer.
        values = [one.metricValueFloat if one.metricValueFloat > 0 else one.metricValue for one in answer.metricValues]
        activity = await self._ask(protocol.IS_ACTIVE, self._reference(), "IsActiveResponse")
        return Reading(value=float(sum(values)), active=activity.result)

    async def _ask(self, method: str, question: Any, answer: str) -> Any:
        path, request = protocol.path(method), question.SerializeToString()
        data = await self._connection.ask(path, request, timeout=self.timeout)
        return parse(protocol.messages()[answer], data)

    def _reference(self) -> Any:
        return protocol.messages()["ScaledObjectRef"](
            name=self.context.scaled_object,
            namespace=self.context.namespace,
            scalerMetadata={key: text.get_secret_value() for key, text in self.metadata.passed.items()},
        )
