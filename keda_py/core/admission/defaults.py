"""Findings about KedaDefaults, and about manifests that go beyond bounds or leave to defaults what they need."""

from collections.abc import Iterator, Mapping
from typing import Any

from keda_py.core.admission.codes import BEYOND_BOUNDS, CHANGES_NOTHING
from keda_py.core.admission.findings import AdmissionWarning, Finding
from keda_py.core.defaults.layers import NAMED
from keda_py.core.spec import TriggersSpec


def check_defaults(body: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    """Check values, bounds and selector of an object of either kind. Raises ConfigError."""
    from keda_py.core.defaults.building import build_defaults  # not for those who warn of bounds alone

    layer = build_defaults({**body, "kind": kind}).layer
    if not layer.values and not layer.bounds:
        text = "spec: changes nothing; give a field such as pollingInterval or maxReplicaCount, or bounds"
        yield AdmissionWarning(message=text, field="spec", code=CHANGES_NOTHING)


def warn_of_bounds(spec: TriggersSpec) -> Iterator[AdmissionWarning]:
    """Warn of each value of the manifest that works as the bound of a KedaDefaults."""
    for note in spec.defaults:
        if note.is_bound and note.is_asked:
            name = NAMED.get(note.field, note.field)
            path = f"metadata.annotations[{name}]" if "/" in name else f"spec.{name}"
            value = note.text.removeprefix("annotation ").removeprefix(f"{name} ")
            text = f"{path}: works as {value}; write a value within the bound"
            yield AdmissionWarning(message=text, field=path, code=BEYOND_BOUNDS)
