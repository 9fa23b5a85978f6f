"""A manifest and the layers under it -> the spec in force, with a note for each field that they changed.

The one place where defaults and bounds meet manifests: operator, preview, validate, savings and dashboard come here.
A manifest's own field wins over every default. A bound changes what goes beyond it, so that a new bound never stops an
object. Neither makes an object invalid: a default gives way to the manifest's other fields.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from keda_py.apis.scaled_object import AdvancedConfig, Fallback, HorizontalPodAutoscalerConfig, ScaledObject
from keda_py.core.defaults.layers import BOUNDED, NAMED, Layers, clamp, most_replicas
from keda_py.core.spec import AS_WRITTEN, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.core.values.default_note import DefaultNote
from keda_py.core.values.pause import PAUSED_REPLICAS
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.apis.scaled_job import ScaledJob
    from keda_py.core.jobs.spec import JobScalingSpec

KEDAS: Final = {
    "polling_interval": 30,
    "cooldown_period": 300,
    "initial_cooldown_period": 0,
    "min_replica_count": 0,
    "max_replica_count": 100,
}
"""KEDA's defaults of the fields that can be bounded."""
_OF_JOBS = ("polling_interval", "max_replica_count")
_BOUNDED_OF_JOBS = ("polling_interval", "min_replica_count", "max_replica_count")
FindLayers = Callable[[str], Layers]
"""Returns the layers of a namespace. Raises ConfigError if one of them has never been readable."""


class _Fields:
    """Fields of one manifest while layers are laid under them; `values` None is not given by anything yet."""

    def __init__(self, written: dict[str, object]) -> None:
        self.written, self.values = written, dict(written)
        self.notes: dict[str, DefaultNote] = {}
        self.bounded_by: dict[str, int] = {}
        """Number of the layer whose bound a field has; a later one counts more."""
        self.asked = {field: "the manifest asks for" for field, value in written.items() if value is not None}

    def fill(self, field: str, layers: Layers) -> None:
        """Give a field that the manifest leaves out the value of the first layer that has one."""
        if self.values[field] is not None:
            return
        for layer in layers:
            if field in layer.values:
                value = self.values[field] = layer.values[field]
                self.asked[field] = f"{layer.origin} asks for"
                self.notes[field] = DefaultNote(field, f"{NAMED[field]}{_in_words(value)}: from {layer.origin}")
                return

    def drop(self, field: str) -> None:
        """Take a default back."""
        self.values[field] = self.written[field]
        self.notes.pop(field, None)
        self.asked.pop(field, None)

    def number(self, field: str) -> int:
        """The count or seconds in force."""
        value = self.values[field]
        return value if isinstance(value, int) else KEDAS[field]

    def bound(self, field: str, layers: Layers) -> None:
        """Change a value that is beyond a bound; the last layer's bound counts most."""
        asked = value = self.number(field)
        origin = ""
        for number, layer in enumerate(layers):
            if field in layer.bounds and (nearest := clamp(value, layer.bounds[field])) != value:
                value, origin, self.bounded_by[field] = nearest, layer.origin, number
        if value != asked:
            self.change(field, value, f"the bound of {origin}")

    def change(self, field: str, value: int, why: str) -> None:
        """Set a value that a bound asks for."""
        asked = f"{self.asked.get(field, 'the default of KEDA is')} {self.number(field)}"
        self.values[field] = value
        is_asked = self.written[field] is not None
        self.notes[field] = DefaultNote(field, f"{NAMED[field]} {value}: {why}; {asked}", True, is_asked)


def fill_scaled_object(obj: ScaledObject, layers: Layers) -> ScalingSpec:
    """Build the spec of a ScaledObject over the layers of its namespace. Raises ConfigError."""
    if not layers:
        return AS_WRITTEN.of(obj)
    spec = obj.spec
    hpa = spec.advanced.horizontal_pod_autoscaler_config if spec.advanced else None
    written: dict[str, object] = {field: getattr(spec, field) for field in (*BOUNDED, "fallback")}
    fields = _Fields(written | {"behavior": hpa.behavior if hpa else None})
    for field in NAMED:
        fields.fill(field, layers)
    if all(trigger.type in RESOURCE_TRIGGERS for trigger in spec.triggers):
        fields.drop("fallback")  # KEDA denies it there
    idle = spec.idle_replica_count
    if idle is not None and spec.min_replica_count is None and fields.number("min_replica_count") <= idle:
        fields.drop("min_replica_count")
    _settle_order(fields)
    for field in BOUNDED:
        fields.bound(field, layers)
    _keep_order(fields, layers)
    if not fields.notes:
        filled = AS_WRITTEN.of(obj)
    else:
        values = {field: fields.values[field] for field in (*BOUNDED, "fallback")}
        values |= {"advanced": _with_behavior(spec.advanced, fields), "idle_replica_count": _idle(idle, fields)}
        filled = AS_WRITTEN.of(obj.model_copy(update={"spec": spec.model_copy(update=values)}))
    return _capped(replace(filled, defaults=tuple(fields.notes.values())), layers)


def fill_scaled_job(obj: "ScaledJob", layers: Layers) -> "JobScalingSpec":
    """Build the spec of a ScaledJob over the layers of its namespace. Raises ConfigError.

    A default of minReplicaCount is for workloads: a Job that always runs is never meant by it.
    """
    from keda_py.core.jobs.spec import JOBS_AS_WRITTEN  # not for the process that judges ScaledObjects alone

    if not layers:
        return JOBS_AS_WRITTEN.of(obj)
    fields = _Fields({field: getattr(obj.spec, field) for field in _BOUNDED_OF_JOBS})
    for field in _OF_JOBS:
        fields.fill(field, layers)
    _settle_order(fields)
    for field in _BOUNDED_OF_JOBS:
        fields.bound(field, layers)
    _keep_order(fields, layers)
    if not fields.notes:
        return JOBS_AS_WRITTEN.of(obj)
    filled = obj.model_copy(update={"spec": obj.spec.model_copy(update=fields.values)})
    return replace(JOBS_AS_WRITTEN.of(filled), defaults=tuple(fields.notes.values()))


def loses_minimum(before: ScalingSpec, after: ScalingSpec) -> bool:
    """Return whether defaults no longer keep replicas that they kept: the cooldown then begins anew.

    Nothing goes to zero in the moment in which a KedaDefaults is deleted.
    """
    was_kept = any(note.field == "min_replica_count" for note in before.defaults)
    return was_kept and after.min_replicas < before.min_replicas


def _settle_order(fields: _Fields) -> None:
    """Let a default give way to the other bound where the two would cross."""
    least, most = fields.number("min_replica_count"), fields.number("max_replica_count")
    if least <= most:
        return
    for field, value in (("max_replica_count", least), ("min_replica_count", most)):
        if field in fields.notes:
            origin = fields.notes[field].text.partition(": from ")[2]
            fields.values[field] = value
            text = f"{NAMED[field]} {value}: from {origin}, moved to the manifest's own bound"
            fields.notes[field] = DefaultNote(field, text)
            return


def _keep_order(fields: _Fields, layers: Layers) -> None:
    """Raise maxReplicaCount to a minReplicaCount that a bound has raised, as far as bounds of the same weight allow it;
    otherwise lower minReplicaCount. A namespace could go below the cluster's minimum by its own maximum otherwise.
    """
    least, most = fields.number("min_replica_count"), fields.number("max_replica_count")
    if least <= most or not fields.bounded_by:
        return
    raised = least if "min_replica_count" in fields.bounded_by else most
    for layer in layers[fields.bounded_by.get("min_replica_count", 0) :]:
        if "max_replica_count" in layer.bounds:
            raised = clamp(raised, layer.bounds["max_replica_count"])
    if raised > most:
        fields.change("max_replica_count", raised, f"no less than minReplicaCount {least}")
        most = raised
    if least > most:
        fields.change("min_replica_count", most, f"no more than maxReplicaCount {most}")


def _idle(idle: int | None, fields: _Fields) -> int | None:
    """Keep the idle count below a minReplicaCount that a bound has lowered."""
    note = fields.notes.get("min_replica_count")
    if idle is None or note is None or not note.is_bound:
        return idle
    return min(idle, max(fields.number("min_replica_count") - 1, 0))


def _with_behavior(advanced: AdvancedConfig | None, fields: _Fields) -> AdvancedConfig | None:
    if "behavior" not in fields.notes:
        return advanced
    advanced = advanced or AdvancedConfig()
    hpa = advanced.horizontal_pod_autoscaler_config or HorizontalPodAutoscalerConfig()
    hpa = hpa.model_copy(update={"behavior": fields.values["behavior"]})
    return advanced.model_copy(update={"horizontal_pod_autoscaler_config": hpa})


def _capped(spec: ScalingSpec, layers: Layers) -> ScalingSpec:
    """Keep the counts of a pause and of a fallback within the bound of maxReplicaCount, and note it for overlays."""
    most = most_replicas(layers)
    if most is None:
        return spec
    most = max(most, spec.max_replicas)  # which the cluster's minimum has raised above a bound of the namespace
    notes = list(_beyond(spec, most, layers))
    if spec.fallback is not None and spec.fallback.replicas > most:
        spec = replace(spec, fallback=spec.fallback.model_copy(update={"replicas": most}))
    paused_at = _paused_at(spec)
    if paused_at is not None and paused_at > most:
        spec = replace(spec, pause=replace(spec.pause, replicas=str(most)))
    return replace(spec, most_replicas=most, defaults=(*spec.defaults, *notes))


def _beyond(spec: ScalingSpec, most: int, layers: Layers) -> Iterator[DefaultNote]:
    origin = _bounding(most, layers)
    why = f"the bound of maxReplicaCount of {origin}" if origin else f"no more than maxReplicaCount {most}"
    if spec.fallback is not None and spec.fallback.replicas > most:
        is_asked = not any(note.field == "fallback" for note in spec.defaults)
        text = f"fallback.replicas {most}: {why}; {spec.fallback.replicas} are asked for"
        yield DefaultNote("fallback.replicas", text, True, is_asked)
    paused_at = _paused_at(spec)
    if paused_at is not None and paused_at > most:
        text = f"annotation {PAUSED_REPLICAS} {most}: {why}; {paused_at} are asked for"
        yield DefaultNote(PAUSED_REPLICAS, text, True, True)


def _bounding(most: int, layers: Layers) -> str:
    bounds = ((layer.origin, layer.bounds.get("max_replica_count")) for layer in layers)
    return next((origin for origin, allowed in bounds if allowed is not None and allowed.at_most == most), "")


def _paused_at(spec: ScalingSpec) -> int | None:
    try:
        return spec.pause.replica_count()
    except ConfigError:
        return None  # the reconcile says so


def _in_words(value: object) -> str:
    match value:
        case Fallback():
            return f" of {value.replicas} replicas after {value.failure_threshold} failures"
        case int():
            return f" {value}"
        case _:
            return ""
