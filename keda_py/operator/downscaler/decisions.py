"""Decide what the annotations make of one object now, from what the caches know of its surroundings.

A workload under a ScaledObject is downscaled through it alone: the workload's annotations count for the ScaledObject,
unless that has its own. Next: `sweep.py`, which writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, texts_at
from keda_py.core.environment.downscaler.decision import (
    ORIGINAL,
    PREFIX,
    AnnotatedObject,
    DesiredFields,
    DownscaleInputs,
    Override,
    decide,
)
from keda_py.core.environment.overrides import Overrides, OverrideState, Ruling, TargetKey
from keda_py.core.values.own_annotations import is_stopped
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, target_key
from keda_py.operator.downscaler.dependencies import DownscalerDependencies
from keda_py.operator.downscaler.objects import DOWNSCALED_BY_KIND, annotated, annotations_of
from keda_py.operator.environments.known.targets import workload_of

_OURS = ("ScaledObject", "ScaledJob")


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscaleDecision:
    """An object and the outcome for it; None: no annotation concerns it, or `governed_by` rules it.

    `governed_by` is the Environment that owns an object with annotations.
    """

    before: AnnotatedObject
    outcome: DesiredFields | None = None
    governed_by: str = ""


class Deciding:
    """Makes decisions from caches, without any request."""

    def __init__(self, parts: DownscalerDependencies) -> None:
        self._parts = parts

    def decide(self, live: Obj, overrides: Overrides, now: datetime) -> DownscaleDecision | None:
        """Decide about one object; None if its namespace is not known, or the object is being deleted. Raises
        ConfigError.

        `overrides` are those of its namespace: one of the object itself outranks its annotations.
        """
        namespace = self._parts.caches.namespace(namespace_of(live))
        if namespace is None or live["metadata"].get("deletionTimestamp"):
            return None
        around, before = annotations_of(namespace), annotated(live, self._annotations(live))
        # Jobs of ScaledJobs and HPAs of ScaledObjects are our own: they follow their owner, and are not downscaled.
        if not self._is_marked(live, around) or set(before.owner_kinds) & set(_OURS):
            return DownscaleDecision(before=before)
        governed_by = self._parts.owners.by(before.namespace, before.labels, before.annotations)
        if governed_by:
            return DownscaleDecision(before=before, governed_by=governed_by)
        override = _override(overrides.verdict(self._targets(live), now))
        outcome = decide(before, DownscaleInputs(annotations=around, override=override), self._parts.settings, now)
        if self._is_scaled(live, now) and ORIGINAL in outcome.annotations:
            return DownscaleDecision(before=before)  # only restored, never downscaled: the ScaledObject rules its count
        return DownscaleDecision(before=before, outcome=outcome)

    def is_marked(self, live: Obj) -> bool:
        """Whether its own annotations or its namespace's concern it."""
        namespace = self._parts.caches.namespace(namespace_of(live))
        return namespace is not None and self._is_marked(live, annotations_of(namespace))

    def _is_marked(self, live: Obj, around: Mapping[str, str]) -> bool:
        sources = self._sources(live)
        found = (around, *map(annotations_of, sources)) if sources else ()
        return any(name.startswith(PREFIX) for one in found for name in one)

    @staticmethod
    def _targets(live: Obj) -> list[TargetKey]:
        """The targets by which an Override can name it: itself, and the workload of a ScaledObject."""
        own = TargetKey(live["kind"], name_of(live))
        return [own, TargetKey(*workload_of(live).split("/")[-2:])] if live["kind"] == SCALED_OBJECTS.kind else [own]

    def _sources(self, live: Obj) -> list[Obj]:
        """The objects whose annotations count for this one; none if its kind is excluded."""
        target = self._target(live) if live["kind"] == SCALED_OBJECTS.kind else live
        if target is None:
            return [live] if self._parts.includes_scaled_objects else []
        return [target, live]

    def _annotations(self, live: Obj) -> Mapping[str, str]:
        """Its annotations, over those of a ScaledObject's workload; pause and original count are never inherited."""
        if live["kind"] != SCALED_OBJECTS.kind:
            return annotations_of(live)
        target = self._target(live)
        found = {} if target is None else annotations_of(target)
        inherited = {name: text for name, text in found.items() if name.startswith(PREFIX) and name != ORIGINAL}
        return inherited | annotations_of(live)

    def _target(self, live: Obj) -> Obj | None:
        """The workload of a ScaledObject, if its kind can be downscaled."""
        reference = map_at(live, "spec", "scaleTargetRef")
        kind = DOWNSCALED_BY_KIND.get(text_at(reference, "kind") or "Deployment")
        informer = self._parts.caches.workloads.get(kind.resource.plural) if kind is not None else None
        return None if informer is None else informer.get(namespace_of(live), text_at(reference, "name"))

    def _is_scaled(self, live: Obj, now: datetime) -> bool:
        if live["kind"] == SCALED_OBJECTS.kind:
            return False
        version = DOWNSCALED_BY_KIND[live["kind"]].resource.api_version
        key = target_key(namespace_of(live), version, live["kind"], name_of(live))
        return any(not _is_paused(one, now) for one in self._parts.scaled_objects.by_index(BY_TARGET, key))


def _override(verdict: Ruling) -> Override | None:
    """The Override's wake or sleep. A count is an overlay on a ScaledObject, and is refused for a workload."""
    if verdict.rules is None:
        return None
    ups = {OverrideState.AWAKE: True, OverrideState.ASLEEP: False}
    return Override(up=ups.get(verdict.rules.state), because=verdict.because)


def _is_paused(scaled_object: Obj, now: datetime) -> bool:
    return is_stopped(texts_at(scaled_object, "metadata", "annotations"), now)
