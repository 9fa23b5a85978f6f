"""Annotations with which Flux's controllers leave an object as it is, on members while they sleep. Pure.

kustomize-controller applies nothing to an object with `reconcile: disabled`, and helm-controller corrects no drift of
one with `driftDetection: disabled`; both are read from the object in the cluster. The patch that adds ours adds a mark
to the same object, so that one write makes both, and what a user wrote is never taken for ours.
"""

from collections.abc import Mapping
from typing import Any, Final

from keda_py.apis.foreign import texts_at

MARK: Final = "keda-py.dev/flux-disabled"
"""Annotation with the names of the annotations that are ours, comma separated."""
DISABLED = "disabled"
ANNOTATIONS: Final = {
    "kustomize.toolkit.fluxcd.io/name": "kustomize.toolkit.fluxcd.io/reconcile",
    "helm.toolkit.fluxcd.io/name": "helm.toolkit.fluxcd.io/driftDetection",
}
"""Annotation by the label that Flux puts on the objects that it applies."""


def is_marked(live: Mapping[str, Any]) -> bool:
    """Return whether an annotation of ours is on an object."""
    return MARK in texts_at(live, "metadata", "annotations")


def change_of_annotations(live: Mapping[str, Any], *, asleep: bool) -> dict[str, str | None] | None:
    """Return the annotations to patch, None as a value for one that goes; None if nothing is to be changed."""
    labels, written = texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")
    ours = [name for name in written.get(MARK, "").split(",") if name in ANNOTATIONS.values()]
    if not asleep:
        return (
            {MARK: None, **{name: None for name in ours if written.get(name) == DISABLED}} if MARK in written else None
        )
    wanted = [name for label, name in ANNOTATIONS.items() if label in labels]
    missing = [name for name in wanted if written.get(name) != DISABLED]
    if not missing:
        return None
    return {MARK: ",".join(sorted({*ours, *missing})), **dict.fromkeys(missing, DISABLED)}
