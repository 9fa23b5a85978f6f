"""Parts of libraries that the webhook process does without: they are left out before anything imports them.

Each is some hundred kilobytes of objects that live as long as the process and that nothing in it reads.
"""

import sys
from types import ModuleType

from keda_py.operator.process.memory import leave_out_unused


def leave_out() -> None:
    """Call this before pydantic is imported."""
    leave_out_unused()
    _leave_out_plugins()
    _forget_shapes()


def _leave_out_plugins() -> None:
    """Plugins of pydantic: looking for some imports `importlib.metadata`, and with it `email` and `zipfile`, 1.4 MB."""
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules[loader.__name__] = loader


def _forget_shapes() -> None:
    """Types of the fields of pydantic's core schemas, which are there for type checkers: 0.7 MB."""
    from pydantic_core import core_schema

    for one in vars(core_schema).values():
        if isinstance(one, type) and hasattr(one, "__total__"):  # a TypedDict
            one.__annotations__ = {}
