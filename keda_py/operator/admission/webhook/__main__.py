"""The webhook process, as the operator starts it: first of all, what it does not need is left out.

Each part of a library that is left out is some hundred kilobytes of objects that live as long as the process and that
nothing in it reads. This has to come before anything imports pydantic.
"""

import importlib
import sys
from types import ModuleType

from keda_py.operator.process.memory import leave_out_unused


def _leave_out() -> None:
    leave_out_unused()
    _leave_out_plugins()
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
