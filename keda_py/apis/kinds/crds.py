"""CustomResourceDefinitions generated from the table of kinds: for `keda-py crds`, the chart and the embedded
cluster.

`structural` turns pydantic's JSON schema into one that the API server accepts: no references, no `null`, no titles. The
result matches KEDA's CRDs field for field, so that its manifests apply unchanged; `status.kedaPy` is ours.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from keda_py.apis.kinds.kind import VERSION, KindRow, PrinterColumn
from keda_py.apis.kinds.table import KINDS

Schema = dict[str, Any]

_INTEGER_FORMATS = {2**31 - 1: "int32", 2**63 - 1: "int64"}
_COPIED = ("description", "minLength", "minItems", "pattern")


def build_crds() -> list[Schema]:
    """Build the CRDs as `apiextensions.k8s.io/v1` objects, always the same and in the same order."""
    return [crd_of(kind) for kind in KINDS]


def crd_of(kind: KindRow) -> Schema:
    """Build the CRD of one kind."""
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names | ({"shortNames": list(kind.short_names)} if kind.short_names else {}),
            "scope": kind.scope,
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in kind.columns],
                    "schema": {"openAPIV3Schema": _object_schema(kind.model)},
                }
            ],
        },
    }


def _column(column: PrinterColumn) -> Schema:
    found: Schema = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return found | ({"priority": column.priority} if column.priority else {})


def _object_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a whole object, without metadata, whose schema the API server adds."""
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
    """Return a model's structural schema."""
    generated = model.model_json_schema(by_alias=True, schema_generator=DescribedSchema)
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
    """Resolve `$ref` and drop the `null` of an optional field; a field's own keywords override those of its type."""
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
        # A map with typed values, such as labels.
        return {"additionalProperties": _convert(extra, definitions)}
    if extra:
        return {"x-kubernetes-preserve-unknown-fields": True}
    properties = {key: _convert(value, definitions) for key, value in sorted(resolved.get("properties", {}).items())}
    required = {"required": sorted(resolved["required"])} if resolved.get("required") else {}
    return {"properties": properties} | required


def _convert_integer(resolved: Schema) -> Schema:
    """Convert an integer; the bounds of its whole type become a format."""
    largest = resolved["maximum"]
    own = {} if resolved["minimum"] == -largest - 1 else {"minimum": resolved["minimum"]}
    return {"format": _INTEGER_FORMATS[largest]} | own


def _convert_text(resolved: Schema) -> Schema:
    """Convert choices and defaults; the choice "" only means that the field is optional."""
    found: Schema = {"format": "date-time"} if resolved.get("format") == "date-time" else {}
    choices = [resolved["const"]] if "const" in resolved else resolved.get("enum", [])
    if wanted := [choice for choice in choices if choice or resolved.get("default") != ""]:
        found["enum"] = wanted
    if resolved.get("default"):
        found["default"] = resolved["default"]
    return found


class DescribedSchema(GenerateJsonSchema):
    """pydantic's generator with the text under a field as its description; one that is given in code is kept.

    pydantic can collect these texts, too, but as it makes each class, which adds a tenth of a second to every start of
    a process; only the CRDs need them.
    """

    def model_schema(self, schema: Any) -> JsonSchemaValue:  # pydantic_core's types are private
        """Return the schema of one model, without the models nested in it."""
        found, model = super().model_schema(schema), schema["cls"]
        properties = found.get("properties", {})
        for name, text in _descriptions(model).items():
            field = model.model_fields.get(name)
            if field is not None and (shown := properties.get(field.alias or name)) is not None:
                shown.setdefault("description", text)
        return found


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the texts by field, inherited fields included."""
    found: dict[str, str] = {}
    for ancestor in reversed(model.__mro__):
        if issubclass(ancestor, BaseModel) and ancestor is not BaseModel:
            found |= _of_module(ancestor.__module__).get(ancestor.__name__, {})
    return found


@cache
def _of_module(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts by class and field."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_of_class(node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
