"""Scale on a number that is kept in a ConfigMap or a Secret."""

import base64
import binascii
import math
from collections.abc import AsyncIterator
from typing import Annotated, Literal

from keda_py.core.values.quantity import parse_number
from keda_py.errors import KubeError
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target, TriggerMetadata
from scalers.shared.answers import gjson
from scalers.shared.answers.location import YAML_INLINE_BYTES, scalar_in_yaml
from scalers.shared.cluster.changes import activity_after
from scalers.shared.numbers import finite_reading, float_of

_TOO_LARGE = 2.0**63
_RESOURCES = {"ConfigMap": "configmaps", "Secret": "secrets"}


class KubernetesResourceMetadata(TriggerMetadata):
    """Keys of `kubernetes-resource`."""

    resource_kind: Literal["ConfigMap", "Secret"]
    resource_name: str
    key: str
    format: Literal["number", "json", "yaml"] = "number"
    value_location: str = ""
    value_type: Literal["float64", "int64", "quantity"] = "float64"
    target_value: Annotated[float, Target()]
    activation_target_value: Annotated[float, Activation()] = 0.0


class KubernetesResourceScaler(Scaler[KubernetesResourceMetadata]):
    """Reads one key of one object; nothing of the value goes into an error, since it may be a Secret's."""

    def __init__(self, metadata: KubernetesResourceMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if metadata.format == "number" and metadata.value_location:
            message = "valueLocation is only supported with json or yaml format: set format, or leave it out"
            raise ConfigError(message, field="valueLocation")
        if metadata.format != "number" and not metadata.value_location:
            message = f"valueLocation is required for {metadata.format} format: write the path to the number"
            raise ConfigError(message, field="valueLocation")

    @property
    def metric_name(self) -> str:
        """`<kind>-<name>-<key>`, the kind in small letters."""
        return f"{self.metadata.resource_kind.lower()}-{self.metadata.resource_name}-{self.metadata.key}"

    async def read(self) -> Reading:
        """Read now; a missing object or key and what is not a number are errors."""
        text, path, parse = await self._text(), self.metadata.value_location, self.context.parse
        match self.metadata.format:
            case "number":
                return self._reading(text.strip())
            case "json":
                found = await parse(gjson.scalar_in, text, path, inline_bytes=gjson.INLINE_BYTES)
            case "yaml":
                found = await parse(scalar_in_yaml, text, path, inline_bytes=YAML_INLINE_BYTES)
        return self._reading(found)

    async def watch(self) -> AsyncIterator[bool]:
        """Yield activity whenever the object changes."""
        resource = _RESOURCES[self.metadata.resource_kind]
        changes = self.context.kube.changes(resource, self.context.namespace, name=self.metadata.resource_name)
        async for active in activity_after(changes, self):
            yield active

    @property
    def listens_at_zero_only(self) -> bool:
        """Leave an object that is written often to the polls while the workload is up."""
        return True

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, a path that cannot be followed fails each poll, not the ScaledObject."""
        problem = gjson.path_problem(self.metadata.value_location) if self.metadata.format == "json" else ""
        return (problem,) if problem else ()

    @property
    def _place(self) -> str:
        return f"{self.metadata.resource_kind} {self.context.namespace}/{self.metadata.resource_name}"

    async def _text(self) -> str:
        resource, name = _RESOURCES[self.metadata.resource_kind], self.metadata.resource_name
        try:
            found = await self.context.kube.get(resource, self.context.namespace, name)
        except KubeError as error:
            raise ScalerError(f"error reading {self._place}: {error}") from error
        text = (found.get("data") or {}).get(self.metadata.key)
        if text is None:
            raise ScalerError(f'{self._place} has no key "{self.metadata.key}"')
        if self.metadata.resource_kind == "ConfigMap":
            return str(text)
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise ScalerError(f'{self._place}: key "{self.metadata.key}" is not text') from None

    def _reading(self, value: object) -> Reading:
        return finite_reading(self._number(value))

    def _number(self, value: object) -> float:
        """Read by `valueType`, as KEDA does: JSON's 2.9 is 2 as an int64, while YAML's stays 2.9."""
        metadata = self.metadata
        try:
            match metadata.format, metadata.value_type, value:
                case "json", "int64", int() | float() if not isinstance(value, bool):
                    return float(int(value))
                case (_, _, bool()) | ("json", "int64", _):
                    raise ValueError
                case _, _, int() | float() if abs(value) < math.inf:  # YAML's 1e400 is infinity
                    return float(value)
                case "number", "int64", str():
                    return float(parse_int(value))
                case _, _, str():
                    only_quantities = metadata.format == "json" or metadata.value_type == "quantity"
                    return _quantity(value) if only_quantities else _float_or_quantity(value)
                case _:
                    raise ValueError
        except (ValueError, OverflowError, ConfigError):
            kind = metadata.value_type
            raise ScalerError(f'{self._place}: key "{metadata.key}" does not hold a {kind}') from None


def _float_or_quantity(text: str) -> float:
    """A quantity is what ends in a letter; "nan" and "inf" are numbers."""
    try:
        return float_of(text)
    except ValueError:
        if text[-1:].isalpha():
            return _quantity(text)
        raise


def _quantity(text: str) -> float:
    """Raises ValueError for one beyond 64 bits, such as 1e400, which Kubernetes would cut to the largest one."""
    value = parse_number(text)
    if abs(value) >= _TOO_LARGE:
        raise ValueError
    return value
