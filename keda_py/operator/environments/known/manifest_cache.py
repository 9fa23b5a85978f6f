"""Cache of parsed manifests: they are asked for more often than they change, and one may be a megabyte long."""

from typing import Generic, TypeVar

from keda_py.apis.parsing import parse_manifest
from keda_py.apis.wire import Wire
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj

M = TypeVar("M", bound=Wire)
T = TypeVar("T")


class Parsed(Generic[M]):
    """Parsed manifests of one model by key; the error of an unreadable one is kept as well."""

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._known: dict[ObjectKey, tuple[tuple[object, ...], M | ConfigError]] = {}

    def of(self, key: ObjectKey, live: Obj) -> M:
        """Return the parsed manifest, from the cache if its generation is unchanged. Raises ConfigError."""
        meta = live["metadata"]
        version = (meta["uid"], meta.get("generation", meta["resourceVersion"]))
        known = self._known.get(key)
        if known is None or known[0] != version:
            known = self._known[key] = (version, self._parse(live))
        return given(known[1])

    def _parse(self, live: Obj) -> M | ConfigError:
        try:
            return parse_manifest(self._model, live)
        except ConfigError as error:
            return kept(error)

    def forget(self, key: ObjectKey) -> None:
        self._known.pop(key, None)


def kept(error: ConfigError) -> ConfigError:
    """Copy an error without its traceback, whose frames would keep everything alive that they worked on."""
    return ConfigError(str(error), field=error.field)


def given(found: T | ConfigError) -> T:
    """Return a cached value; raise a copy of a cached error."""
    if isinstance(found, ConfigError):
        raise kept(found)
    return found
