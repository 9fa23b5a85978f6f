"""The webhook process, as the operator starts it: first of all, what it does not need is left out.

Each part of a library that is left out is some hundred kilobytes of objects that live as long as the process and that
nothing in it reads. This has to come before anything imports pydantic.
"""

import importlib
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from keda_py.operator.process.memory import leave_out_unused


class LateJsonSchemas(ModuleType):
    """`pydantic.json_schema` with the names that pydantic itself imports, 0.3 MB less; all of it once another is read.

    Reviews make no JSON schema. A plug-in may: then the module is executed here, in place.
    """

    DEFAULT_REF_TEMPLATE = "#/$defs/{model}"
    JsonSchemaValue, JsonSchemaMode, GenerateJsonSchema = dict, str, object

    class PydanticJsonSchemaWarning(UserWarning):
        """Category of warnings about a field's own schema."""

    def model_json_schema(self, model: object, *, schema_generator: object, **how: object) -> object:
        """Make the schema of a model by the module itself."""
        whole = _load(self)
        chosen = (
            whole.GenerateJsonSchema if schema_generator is LateJsonSchemas.GenerateJsonSchema else schema_generator
        )
        return whole.model_json_schema(model, schema_generator=chosen, **how)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system looks for __path__ and the like
            raise AttributeError(name)
        return getattr(_load(self), name)


def _load(late: ModuleType) -> Any:
    """Execute the module in place of its few names, once."""
    if isinstance(late, LateJsonSchemas):
        import pydantic

        found = PathFinder.find_spec(late.__name__, pydantic.__path__)
        if found is None or found.loader is None:
            raise ImportError(late.__name__, name=late.__name__)
        late.__spec__, late.__class__ = found, ModuleType  # type: ignore[assignment]
        found.loader.exec_module(late)
    return late


def _leave_out() -> None:
    leave_out_unused()
    _leave_out_plugins()
    late = LateJsonSchemas("pydantic.json_schema")
    sys.modules[late.__name__] = late
    _forget_shapes()


def _leave_out_plugins() -> None:
    """Plugins of pydantic: looking for some imports `importlib.metadata`, and with it `email` and `zipfile`, 1.4 MB."""
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules[loader.__name__] = loader


def _forget_shapes() -> None:
    """Types of the fields of pydantic's core schemas, which are there for type checkers: 0.3 MB."""
    from pydantic_core import core_schema

    for one in vars(core_schema).values():
        if isinstance(one, type) and hasattr(one, "__total__"):  # a TypedDict
            one.__annotations__ = {}


if __name__ == "__main__":
    _leave_out()
    life = importlib.import_module("keda_py.operator.admission.webhook.life")
    sys.exit(life.main(sys.argv[1:]))
