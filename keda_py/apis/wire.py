"""Shapes shared by all kinds: parsing rules, bounded integers, metadata, conditions.

Rules of this package: models have no behaviour and no defaults that KEDA applies in code. An omitted field is `None`,
`""` or empty; any other default is written into the CRD. Fields that the API server prunes are ignored. The text under
a field is its description in the CRD, shown by `kubectl explain`. Next: `scaled_object.py`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """Part of a Kubernetes object: camelCase on the wire, unknown fields ignored, values never echoed."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        # Objects are shared between caches and tasks.
        frozen=True,
        # pydantic's errors print the input, which may be a secret.
        hide_input_in_errors=True,
        # A validator is built with the first object of its kind: 0.7 MB less where ScaledObjects are all there is, 0.9
        # more where there is something of each kind.
        defer_build=True,
    )


Int32 = Annotated[int, Field(strict=True, ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Positive = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1)]


class AuthenticationRef(Wire):
    """Reference to a (Cluster)TriggerAuthentication."""

    name: str
    kind: Literal["", "TriggerAuthentication", "ClusterTriggerAuthentication"] = ""
    """TriggerAuthentication by default."""


class Condition(Wire):
    """Entry of `status.conditions`."""

    type: str
    status: str
    """True, False or Unknown."""
    reason: str = ""
    message: str = ""


class ObjectMeta(Wire):
    """Part of `metadata` that decisions and manifests need."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: Int64 = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
