"""The six CustomResourceDefinitions, generated from the models: `keda-py crds`, the chart and the embedded cluster.

`structural` turns pydantic's JSON schema into what the API server accepts: no references, no `null`, no titles.
Field for field the result says what KEDA's CRDs say, so that its manifests apply unchanged; `status.kedaPy` is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from keda_py.apis.cloud_event_source import CloudEventSource, ClusterCloudEventSource
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication

Schema = dict[str, Any]

_INTEGER_FORMATS = {2**31 - 1: "int32", 2**63 - 1: "int64"}
_COPIED = ("description", "minLength", "minItems", "pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A printer column: what `kubectl get` shows; priority 1 only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a CRD says besides its schema."""

    model: type[BaseModel]
    group: str
    scope: str
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()


def _condition(name: str) -> Column:
    return Column(name=name, path=f'.status.conditions[?(@.type=="{name}")].status')


_BOUNDS = (
    Column(name="Min", path=".spec.minReplicaCount", type="integer"),
    Column(name="Max", path=".spec.maxReplicaCount", type="integer"),
)
_TYPES_AND_AGE = (
    Column(name="Triggers", path=".status.triggersTypes"),
    Column(name="Authentications", path=".status.authenticationsTypes"),
    Column(name="Age", path=".metadata.creationTimestamp", type="date"),
)
_SOURCES = (
    Column(name="PodIdentity", path=".spec.podIdentity.provider"),
    Column(name="Secret", path=".spec.secretTargetRef[*].name"),
    Column(name="Env", path=".spec.env[*].name"),
)
_FILE = Column(name="FilePath", path=".spec.filePath")
_VAULT_AND_USERS = (
    Column(name="VaultAddress", path=".spec.hashiCorpVault.address"),
    Column(name="ScaledObjects", path=".status.scaledobjects", priority=1),
    Column(name="ScaledJobs", path=".status.scaledjobs", priority=1),
)

KINDS = (
    Kind(
        model=ScaledObject,
        group="keda.sh",
        scope="Namespaced",
        short_names=("so",),
        columns=(
            Column(name="ScaleTargetKind", path=".status.scaleTargetKind"),
            Column(name="ScaleTargetName", path=".spec.scaleTargetRef.name"),
            *_BOUNDS,
            *map(_condition, ("Ready", "Active", "Fallback", "Paused")),
            *_TYPES_AND_AGE,
        ),
    ),
    Kind(
        model=ScaledJob,
        group="keda.sh",
        scope="Namespaced",
        short_names=("sj",),
        columns=(*_BOUNDS, *map(_condition, ("Ready", "Active", "Paused")), *_TYPES_AND_AGE),
    ),
    Kind(
        model=TriggerAuthentication,
        group="keda.sh",
        scope="Namespaced",
        short_names=("ta", "triggerauth"),
        columns=(*_SOURCES, *_VAULT_AND_USERS),
    ),
    Kind(
        model=ClusterTriggerAuthentication,
        group="keda.sh",
        scope="Cluster",
        short_names=("cta", "clustertriggerauth"),
        columns=(*_SOURCES, _FILE, *_VAULT_AND_USERS),
    ),
    Kind(model=CloudEventSource, group="eventing.keda.sh", scope="Namespaced", columns=(_condition("Active"),)),
    Kind(model=ClusterCloudEventSource, group="eventing.keda.sh", scope="Cluster", columns=(_condition("Active"),)),
)


def build_crds() -> list[Schema]:
    """The CRDs as `apiextensions.k8s.io/v1` objects, always the same and in the same order."""
    return [_crd(kind) for kind in KINDS]


def _crd(kind: Kind) -> Schema:
    name = kind.model.__name__
    plural = f"{name.lower()}s"
    names = {"kind": name, "listKind": f"{name}List", "plural": plural, "singular": name.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names | ({"shortNames": list(kind.short_names)} if kind.short_names else {}),
            "scope": kind.scope,
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    "schema": {"openAPIV3Schema": _object_schema(kind.model)},
                }
            ],
        },
    }


def _column(column: Column) -> Schema:
    found: Schema = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return found | ({"priority": column.priority} if column.priority else {})


def _object_schema(model: type[BaseModel]) -> Schema:
    """The schema of a whole object: the API server brings its own for metadata."""
    schema = structural(model)
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": schema["properties"]["spec"],
        "status": schema["properties"]["status"],
    }
    schema["required"] = ["spec"]
    return schema


def structural(model: type[BaseModel]) -> Schema:
    """The model as a structural schema."""
    generated = model.model_json_schema(by_alias=True)
    return _convert(generated, generated.get("$defs", {}))


def _convert(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    resolved = _resolve(schema, definitions)
    found = {key: value for key, value in resolved.items() if key in _COPIED or key.startswith("x-kubernetes-")}
    if "x-kubernetes-int-or-string" in found:
        return {"anyOf": resolved["anyOf"]} | found
    kind = found["type"] = resolved["type"]
    if kind == "object":
        found |= _convert_object(resolved, definitions)
    elif kind == "array":
        found["items"] = _convert(resolved["items"], definitions)
    elif kind == "integer":
        found |= _convert_integer(resolved)
    else:
        found |= _convert_text(resolved)
    return {key: found[key] for key in sorted(found)}


def _resolve(schema: Mapping[str, Any], definitions: Mapping[str, Schema]) -> Schema:
    """Without `$ref` and without the `null` of an optional field; a field's own words win over its type's."""
    own = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    if "$ref" in schema:
        return definitions[schema["$ref"].rpartition("/")[2]] | own
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        return _resolve(options[0] | own, definitions)
    return dict(schema)


def _convert_object(resolved: Schema, definitions: Mapping[str, Schema]) -> Schema:
    extra = resolved.get("additionalProperties")
    if isinstance(extra, dict):
        return {"additionalProperties": _convert(extra, definitions)}
    if extra:
        return {"x-kubernetes-preserve-unknown-fields": True}
    properties = {key: _convert(value, definitions) for key, value in sorted(resolved.get("properties", {}).items())}
    required = {"required": sorted(resolved["required"])} if resolved.get("required") else {}
    return {"properties": properties} | required


def _convert_integer(resolved: Schema) -> Schema:
    """Bounds that are those of the type are a format."""
    largest = resolved["maximum"]
    own = {} if resolved["minimum"] == -largest - 1 else {"minimum": resolved["minimum"]}
    return {"format": _INTEGER_FORMATS[largest]} | own


def _convert_text(resolved: Schema) -> Schema:
    """Choices and defaults; "" as a choice only means that the field may be left out."""
    found: Schema = {"format": "date-time"} if resolved.get("format") == "date-time" else {}
    choices = [resolved["const"]] if "const" in resolved else resolved.get("enum", [])
    if wanted := [choice for choice in choices if choice or resolved.get("default") != ""]:
        found["enum"] = wanted
    if resolved.get("default"):
        found["default"] = resolved["default"]
    return found
