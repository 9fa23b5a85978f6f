"""A scaler as its author writes it, and what a type checker tells of mistakes; the word behind a line is mypy's code."""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.sdk.advanced import ExternalMetric, MetricSpec, ResourceMetric
from keda_py.sdk.scaler import Reading, Scaler, ScalerError, TriggerMetadata
from keda_py.testing import as_secrets


class Metadata(TriggerMetadata):
    queue: str
    target: int = 5
    password: SecretStr = SecretStr("")


class RightScaler(Scaler[Metadata]):
    @property
    def metric_name(self) -> str:
        return f"acme-{self.metadata.queue}"

    @property
    def target(self) -> int:
        return self.metadata.target

    async def specs(self) -> tuple[MetricSpec, ...]:
        return (ExternalMetric(name=self.metric_name, target=self.target),)

    async def read(self, spec: ExternalMetric | None = None) -> Reading:
        answer = await self.context.http.get("https://acme.example")
        return Reading(value=float(answer.text))

    async def read_batch(self, scalers: Sequence[Scaler[Metadata]]) -> Sequence[Reading | ScalerError]:
        return [await one.read() for one in scalers]


class WrongScaler(Scaler[Metadata]):
    @property
    def metric_name(self) -> int:  # override
        return self.metadata.target

    @property
    def target(self) -> int:
        return self.metadata.queue  # return-value

    async def read(self, spec: ExternalMetric | None = None) -> float:  # override
        return 1.0

    async def read_batch(self, scalers: Sequence[Scaler[Metadata]]) -> Sequence[Reading | None]:  # override
        return [None for _ in scalers]

    async def open(self) -> None:
        self.context.http_timeout = 5.0  # misc
        await self.context.shared(("acme", "queue"), self.read, self.close)  # arg-type
        await self.context.http.get(self.metadata.password)  # arg-type

    async def close(self, made: float) -> None: ...


class NoModel(Scaler[str]): ...  # type-var


def readings() -> None:
    Reading(value="3")  # arg-type
    Reading(3.0)  # call-arg
    Reading(value=3.0).value = 4.0  # misc
    ExternalMetric(name="jobs", target="5")  # arg-type
    ResourceMetric(name="disk", target_type="Utilization", target="60")  # arg-type


as_secrets({"password": "sesame"})
