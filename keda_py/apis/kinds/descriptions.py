"""JSON schemas of models, with the text that is written under a field as its description.

pydantic gathers these texts, too, but for each class as it is made: a tenth of a second at each start of a process,
and only the CRDs have a use for them.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


class DescribedSchema(GenerateJsonSchema):
    """As pydantic's own; a description that is given in code is kept."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:  # pydantic_core's types are private
        """The schema of one model, without those of the models in it."""
        found, model = super().model_schema(schema), schema["cls"]
        properties = found.get("properties", {})
        for name, text in _descriptions(model).items():
            field = model.model_fields.get(name)
            if field is not None and (shown := properties.get(field.alias or name)) is not None:
                shown.setdefault("description", text)
        return found


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """By field, those of the classes that it inherits from included."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= _of_module(one.__module__).get(one.__name__, {})
    return found


@cache
def _of_module(module: str) -> Mapping[str, Mapping[str, str]]:
    """By class and field."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_of_class(node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
