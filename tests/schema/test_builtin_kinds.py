from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import orjson

FILE = orjson.loads((files("keda_py.schema") / "builtin_kinds.json").read_bytes())


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for value in schema.values():
            yield from references(value)


def test_every_definition_of_a_built_in_shape_is_part_of_a_kind() -> None:
    assert set(references(FILE)) == set(FILE["definitions"])
