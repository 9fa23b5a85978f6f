"""The one source of specs: defaults, the manifest of an object, then its overlays, in this order.

`core/spec.py` and `core/jobs/spec.py` make the sources of manifests alone, which admission and `validate` judge. The
operator's sources, with overlays, are in the controllers' dependencies (`operator/assembly.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from keda_py.apis.parsing import parse_manifest

M = TypeVar("M", bound=BaseModel)
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecSource(Generic[M, S]):
    """Builds the specs of objects of one kind.

    Each of `overlays` takes the spec that the ones before it returned, and returns the spec to use; it may raise
    ConfigError. An overlay that changes has to make its objects due, as a changed manifest does.
    """

    model: type[M]
    build: Callable[[M], S]
    overlays: tuple[Callable[[S], S], ...] = ()

    def built_by(self, build: Callable[[M], S]) -> "SpecSource[M, S]":
        """Return the same source with another way to build specs from manifests, below all overlays."""
        return replace(self, build=build)

    def over(self, *overlays: Callable[[S], S]) -> "SpecSource[M, S]":
        """Return the same source with more overlays on top."""
        return replace(self, overlays=(*self.overlays, *overlays))

    def read(self, body: Mapping[str, object]) -> S:
        """Return the spec of a manifest. Raises ConfigError for one that cannot be parsed.

        The status of the object has no influence, whichever client wrote it.
        """
        return self.of(parse_manifest(self.model, body))

    def of(self, obj: M) -> S:
        """Return the spec of a parsed object. Raises ConfigError."""
        spec = self.build(obj)
        for overlay in self.overlays:
            spec = overlay(spec)
        return spec
