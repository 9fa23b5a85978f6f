"""ScaledObject -> ScalingSpec: defaults applied, annotations interpreted.

Second of the seven files (before: `apis/scaled_object.py`, next: `core/decision.py`). Pure. Wrong combinations are
found by `spec_rules.py`. Behaviour reference: sections 1.2 (annotations) and 2.2 (defaults).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from keda_py.apis.scaled_object import Fallback, ScaledObject, ScaleTargetRef, ScaleTrigger, ScalingModifiers
from keda_py.core.metric_specs import CPU, MEMORY
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.default_note import DefaultNote
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.own_annotations import GROUP, NO_SCALING, read_bounded_pause, read_scaling
from keda_py.core.values.pause import NOT_PAUSED, PauseSpec, parse_bool_annotation, read_pause
from keda_py.errors import ConfigError

FORCE_ACTIVATION = "autoscaling.keda.sh/force-activation"
EXCLUDED_LABELS = "scaledobject.keda.sh/hpa-excluded-labels"
NAME_LABEL = "scaledobject.keda.sh/name"

DEFAULT_MAX_REPLICAS = 100
RESOURCE_TRIGGERS = (CPU, MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """The workload; messages use `kind_name`, for example `apps/v1.Deployment`."""

    name: str
    api_version: str
    kind: str
    container: str

    @property
    def kind_name(self) -> str:
        """Group, version and kind; the core group keeps its slash: `/v1.ReplicationController`."""
        group_version = self.api_version if "/" in self.api_version else f"/{self.api_version}"
        return f"{group_version}.{self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggersSpec:
    """The fields for reading triggers that ScaledObjects and ScaledJobs (`core/jobs/spec.py`) share."""

    kind: ClassVar[str]

    namespace: str
    name: str
    uid: str
    generation: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    triggers: tuple[ScaleTrigger, ...]
    polling_interval: timedelta
    modifiers: ScalingModifiers | None = None
    fallback: Fallback | None = None
    needs_all: bool = False
    """All triggers have to be active for the object to be."""
    defaults: tuple[DefaultNote, ...] = ()
    """Fields that are not as the manifest has them, because of KedaDefaults."""
    key: ObjectKey = field(init=False, repr=False, compare=False)
    """Key of the object that this is the spec of."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", ObjectKey(self.kind, self.namespace, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSpec(TriggersSpec):
    """The fields of a ScaledObject for decisions and for its HPA; durations are timedeltas."""

    kind: ClassVar[str] = "ScaledObject"

    created: datetime
    target: TargetSpec
    initial_cooldown: timedelta
    cooldown: timedelta
    idle_replicas: int | None
    declared_min: int | None
    max_replicas: int
    hpa_name: str
    behavior: Mapping[str, object] | None
    restore_original: bool
    pause: PauseSpec
    force_activation: bool
    after_scale_in: bool = False
    """The cooldown begins once the HPA has scaled in to its minimum."""
    most_per_trigger: Mapping[int, int] = field(default_factory=dict)
    """Replicas that a trigger may ask for at most, by its index."""
    paused_by_owner: bool = False
    """Its own annotations stop all scaling, whatever lies over the manifest."""
    pause_over: bool = False
    """Its own pause had an end, which has come: its annotations are still there."""
    most_replicas: int | None = None
    """Bound of KedaDefaults for every count, also for what lies over the manifest."""
    ruled_by: str = ""
    """The overlay above the manifest, in words; "" without one."""
    ruled_until: str = ""
    """The time at which that overlay changes, as Kubernetes writes it; "" if it is not known."""
    released_by: str = ""
    """The reason why the last overlay was removed, in words."""

    min_replicas: int = field(init=False, repr=False, compare=False)
    """The lowest count while active, 0 if none is declared."""
    resource_only: bool = field(init=False, repr=False, compare=False)
    """Whether all triggers are cpu or memory: then nothing is polled, and the object is always active."""

    def __post_init__(self) -> None:
        TriggersSpec.__post_init__(self)  # super() fails here: slots make the class anew
        object.__setattr__(self, "min_replicas", self.declared_min or 0)
        object.__setattr__(self, "resource_only", all(each.type in RESOURCE_TRIGGERS for each in self.triggers))


def build_spec(scaled_object: ScaledObject) -> ScalingSpec:
    """Build the spec with KEDA's defaults."""
    meta, spec = scaled_object.metadata, scaled_object.spec
    advanced = spec.advanced
    hpa = advanced.horizontal_pod_autoscaler_config if advanced else None
    modifiers = advanced.scaling_modifiers if advanced else None
    pause, own = read_pause(meta.annotations), NO_SCALING
    if any(name.startswith(GROUP) for name in meta.annotations):  # on few of many objects
        pause = read_bounded_pause(meta.annotations)
        own = read_scaling(meta.annotations, spec.triggers, formula=modifiers is not None)
    return ScalingSpec(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        created=_parse_time(meta.creation_timestamp),
        labels=meta.labels,
        annotations=meta.annotations,
        target=_target_of(spec.scale_target_ref),
        triggers=tuple(spec.triggers),
        polling_interval=timedelta(seconds=_or(spec.polling_interval, 30)),
        initial_cooldown=timedelta(seconds=_or(spec.initial_cooldown_period, 0)),
        cooldown=timedelta(seconds=_or(spec.cooldown_period, 300)),
        idle_replicas=spec.idle_replica_count,
        declared_min=spec.min_replica_count,
        max_replicas=_or(spec.max_replica_count, DEFAULT_MAX_REPLICAS),
        hpa_name=(hpa.name if hpa else "") or f"keda-hpa-{meta.name}",
        behavior=hpa.behavior if hpa else None,
        restore_original=bool(advanced and advanced.restore_to_original_replica_count),
        modifiers=modifiers if modifiers and modifiers != ScalingModifiers() else None,
        fallback=spec.fallback,
        pause=pause,
        paused_by_owner=pause.stopped,
        force_activation=parse_bool_annotation(meta.annotations, FORCE_ACTIVATION),
        needs_all=own.needs_all,
        after_scale_in=own.after_scale_in,
        most_per_trigger=own.most_per_trigger,
    )


def _target_of(target: ScaleTargetRef) -> TargetSpec:
    return TargetSpec(
        name=target.name,
        api_version=target.api_version or "apps/v1",
        kind=target.kind or "Deployment",
        container=target.env_source_container_name,
    )


def without_ended_pause(spec: ScalingSpec, now: datetime) -> ScalingSpec:
    """Return the spec as its owner's pause leaves it at `now`: from its end on all pause annotations are as absent."""
    until = spec.pause.until
    has_ended = until is not None and now >= until
    return replace(spec, pause=NOT_PAUSED, paused_by_owner=False, pause_over=True) if has_ended else spec


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _parse_time(text: str) -> datetime:
    if not text:
        return datetime.fromtimestamp(0, UTC)
    field = "metadata.creationTimestamp"
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f'{field}: "{text}" is not a time; leave it out', field=field) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


AS_WRITTEN = SpecSource(model=ScaledObject, build=build_spec)
"""The source of specs from manifests alone, without overlays."""
