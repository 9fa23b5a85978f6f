"""Annotations for CRD schemas that Python types cannot express, read when the schemas are generated.

They need nothing of `pydantic.json_schema`, which processes that make no schemas leave out.
"""

from typing import Annotated, Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.config import JsonDict
from pydantic_core import CoreSchema

ATOMIC: JsonDict = {"x-kubernetes-list-type": "atomic"}
SET: JsonDict = {"x-kubernetes-list-type": "set"}
BY_NAME: JsonDict = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
PRESERVE: JsonDict = {"x-kubernetes-preserve-unknown-fields": True}

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class DescribedAs:
    """Marker `Annotated[str, DescribedAs({...})]`: the CRD has this schema, whatever the type is."""

    def __init__(self, schema: JsonDict) -> None:
        self._schema = schema

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the marker's schema in place of the type's."""
        return {**self._schema}


Quantity = Annotated[
    int | str,
    DescribedAs(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY_PATTERN,
            "x-kubernetes-int-or-string": True,
        }
    ),
]
"""A Kubernetes quantity: `1`, `"0.1"`, `"500m"`."""

Timestamp = Annotated[str, DescribedAs({"type": "string", "format": "date-time"})]
"""RFC 3339, unparsed."""


class SchemaOf:
    """Marker `Annotated[dict[str, Any], SchemaOf(Model)]`: the value stays unparsed, the CRD describes the model."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the model's schema in place of the dict's."""
        return handler(self._model.__pydantic_core_schema__)


def rule(expression: str, message: str) -> JsonDict:
    """Make a CEL rule with its message."""
    return {"x-kubernetes-validations": [{"message": message, "rule": expression}]}
