"""Where a spec comes from: the object as it is written, then what lies over it, in this order. The one place.

`core/spec.py` and `core/jobs/spec.py` make the sources of manifests alone, which admission and `validate` judge.
The operator's sources stand in the controllers' dependencies (`operator/assembly.py`), with what lies over them.
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
    """Objects of one kind -> specs.

    Each of `overlays` is given the spec as the ones before it left it, and gives the spec to use; it may raise
    ConfigError. One that changes has to make its objects due, as a changed manifest does.
    """

    model: type[M]
    build: Callable[[M], S]
    overlays: tuple[Callable[[S], S], ...] = ()

    def over(self, *overlays: Callable[[S], S]) -> "SpecSource[M, S]":
        """The same with more on top."""
        return replace(self, overlays=(*self.overlays, *overlays))

    def read(self, body: Mapping[str, object]) -> S:
        """The spec of an object as it was written. Raises ConfigError for one that cannot be read.

        Its status has no part in that, whichever client wrote it.
        """
        return self.of(parse_manifest(self.model, body))

    def of(self, obj: M) -> S:
        """The spec of an object that was read. Raises ConfigError."""
        spec = self.build(obj)
        for overlay in self.overlays:
            spec = overlay(spec)
        return spec
