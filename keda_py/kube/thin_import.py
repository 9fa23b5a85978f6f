"""Import of the parts of kubernetes_asyncio that `config.py` needs, without its 770 models and 68 API classes.

Those cost 60 MB and a second; the library's packages import them in their `__init__`, and we use none. Such a package
is put into sys.modules without running its `__init__`: submodules import as usual, and any other name runs it after
all, so that a plug-in which uses the models finds them. This is done for tested versions only; after any error the
ordinary import follows.
"""

import importlib
import importlib.util
import logging
import sys
from functools import partial
from importlib.metadata import version
from types import ModuleType
from typing import Any

# Major versions. Add one only after `tests/kube/test_thin_import.py` has passed with it.
TESTED = range(34, 37)

_LIBRARY = "kubernetes_asyncio"
_DEFERRED = (_LIBRARY, f"{_LIBRARY}.client", f"{_LIBRARY}.client.models")
_NAMES = {"Configuration": f"{_LIBRARY}.client.configuration", "ApiClient": f"{_LIBRARY}.client.api_client"}
_NEEDED = (f"{_LIBRARY}.config.kube_config", f"{_LIBRARY}.config.incluster_config")
log = logging.getLogger(__name__)


def import_thinly() -> bool:
    """Load only the library's configuration part. Return False if the library is loaded whole, now or later."""
    if _LIBRARY in sys.modules:
        return False
    try:
        found = version("kubernetes-asyncio")
        if int(found.partition(".")[0]) not in TESTED:
            log.info("kubernetes_asyncio is imported whole", extra={"reason": f"version {found} is not tested"})
            return False
        _import_deferred()
    except Exception:  # the library's internals may raise anything; the ordinary import follows
        _forget()
        log.warning("kubernetes_asyncio is imported whole", extra={"reason": "its layout is not known"}, exc_info=True)
        return False
    return True


def _import_deferred() -> None:
    for name in _DEFERRED:
        _put_in_place(name)
    client = sys.modules[f"{_LIBRARY}.client"]
    for name, module in _NAMES.items():
        setattr(client, name, getattr(importlib.import_module(module), name))
    for module in _NEEDED:
        importlib.import_module(module)


def _put_in_place(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ImportError(f"there is no package {name}")
    package = importlib.util.module_from_spec(spec)
    vars(package)["__getattr__"] = partial(_find, package)
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)


def _find(package: ModuleType, name: str) -> Any:
    """Return a name that the package lacks: a submodule, else an attribute that only its `__init__` defines."""
    try:
        return importlib.import_module(f"{package.__name__}.{name}")
    except ModuleNotFoundError:
        vars(package).pop("__getattr__", None)
        importlib.reload(package)
        return getattr(package, name)


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == _LIBRARY]:
        del sys.modules[name]


import_thinly()  # not in the package's `__init__`: most that imports a file of it makes no client
