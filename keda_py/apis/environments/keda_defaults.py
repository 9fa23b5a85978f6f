"""KedaDefaults and ClusterKedaDefaults: values for fields that manifests leave out, and bounds for those they have.

The names are those of KEDA's manifests, which stay as they are. `core/defaults/` lays them under a manifest.
"""

from typing import Annotated, Any

from pydantic import ConfigDict

from keda_py.apis.hpa_behavior import HorizontalPodAutoscalerBehavior
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.scaled_object import Fallback
from keda_py.apis.schema_marks import SchemaOf, rule
from keda_py.apis.wire import Condition, Count, ObjectMeta, Positive, Wire


class AllowedRange(Wire):
    """Lowest and highest value that is in force, whatever a manifest asks for."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "!has(self.atLeast) || !has(self.atMost) || self.atLeast <= self.atMost",
            "atLeast must be less than or equal to atMost",
        )
    )

    at_least: Count | None = None
    at_most: Count | None = None


class DefaultsBounds(Wire):
    """Bounds of fields of manifests; a value beyond its bound works as the bound."""

    polling_interval: AllowedRange | None = None
    cooldown_period: AllowedRange | None = None
    initial_cooldown_period: AllowedRange | None = None
    min_replica_count: AllowedRange | None = None
    max_replica_count: AllowedRange | None = None
    """atMost holds for ScalingSchedules, Overrides and pauses at a count, too."""


class KedaDefaultsSpec(Wire):
    """Values for fields that a manifest leaves out, and bounds for all manifests."""

    polling_interval: Positive | None = None
    cooldown_period: Count | None = None
    """For ScaledObjects."""
    initial_cooldown_period: Count | None = None
    """For ScaledObjects."""
    min_replica_count: Count | None = None
    """For ScaledObjects."""
    max_replica_count: Positive | None = None
    fallback: Fallback | None = None
    """For ScaledObjects with a trigger besides cpu and memory."""
    behavior: Annotated[dict[str, Any], SchemaOf(HorizontalPodAutoscalerBehavior)] | None = None
    """For advanced.horizontalPodAutoscalerConfig.behavior of ScaledObjects, as a whole."""
    bounds: DefaultsBounds | None = None
    """Bounds of what manifests may ask for; those of several objects hold together."""


class ClusterKedaDefaultsSpec(KedaDefaultsSpec):
    """The same for the namespaces that a selector matches."""

    namespace_selector: LabelSelector | None = None
    """Namespaces by their labels; all by default."""


class KedaDefaultsStatus(Wire):
    """Whether it can be used."""

    conditions: list[Condition] = []


class KedaDefaults(Wire):
    """Defaults and bounds for the ScaledObjects and ScaledJobs of its namespace."""

    metadata: ObjectMeta
    spec: KedaDefaultsSpec
    status: KedaDefaultsStatus = KedaDefaultsStatus()


class ClusterKedaDefaults(Wire):
    """Defaults and bounds for the ScaledObjects and ScaledJobs of many namespaces."""

    metadata: ObjectMeta
    spec: ClusterKedaDefaultsSpec
    status: KedaDefaultsStatus = KedaDefaultsStatus()
