"""ScaledObject -> findings: names, triggers, bounds, fallback, formula, and rivals for the same workload.

Pure. The order is fixed, while KEDA's is random. Messages are KEDA's, word for word; nothing is denied that KEDA 2.20.2
would accept, so that no manifest that works there is refused here.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding, Neighbourhood, deny, deny_triggers
from keda_py.core.admission.resources import check_requests
from keda_py.core.composite import build_composite
from keda_py.core.spec import NAME_LABEL, ScalingSpec, TargetSpec
from keda_py.core.spec_rules import check_bounds
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.apis.workloads import HorizontalPodAutoscaler

TRANSFER_OWNERSHIP = "scaledobject.keda.sh/transfer-hpa-ownership"
NOT_OURS = "validations.keda.sh/hpa-ownership"
LONGEST_NAME = 63
"""Characters of both names, which become label values."""

_HPA_NAME = "spec.advanced.horizontalPodAutoscalerConfig.name"
_TARGET = "spec.scaleTargetRef"


def check_scaled_object(
    obj: ScaledObject, spec: ScalingSpec, around: Neighbourhood, *, dry_run: bool = False
) -> Iterator[Finding]:
    """Yield every finding, denials and warnings; `spec` is the object's own (`AS_WRITTEN`)."""
    yield from _check_names(spec)
    yield from deny_triggers(spec.triggers)
    yield from _check_bounds(spec)
    yield from check_modifiers(spec)
    yield from _check_fallback(spec)
    if not dry_run:  # the target of a dry run may be in the same batch
        yield from check_requests(spec, around)
    yield from _check_rivals(spec, around)
    yield from _check_hpas(obj, spec, around)
    yield from _check_intervals(obj, spec)


def _check_names(spec: ScalingSpec) -> Iterator[Denial]:
    name, hpa = spec.name, spec.hpa_name
    if len(name) > LONGEST_NAME:
        yield Denial(
            message=f'scaledobject name "{name}" is {len(name)} characters long; must be no more than {LONGEST_NAME} '
            f'characters because it is used as the "{NAME_LABEL}" label value',
            reason="name-too-long",
            field="metadata.name",
        )
    if len(hpa) > LONGEST_NAME:
        yield Denial(
            message=f'HPA name "{hpa}" derived from scaledobject is {len(hpa)} characters long; must be no more than '
            f"{LONGEST_NAME} characters; set {_HPA_NAME} to a shorter name or shorten the scaledobject name",
            reason="hpa-name-too-long",
            field=_HPA_NAME if hpa != f"keda-hpa-{name}" else "metadata.name",
        )


def _check_bounds(spec: ScalingSpec) -> Iterator[Denial]:
    try:
        check_bounds(spec)
    except ConfigError as error:
        yield deny(error, "incorrect-replicas")


def _check_fallback(spec: ScalingSpec) -> Iterator[Denial]:
    if spec.fallback is not None and spec.modifiers is None and spec.resource_only:
        yield Denial(
            message="at least one trigger (that is not cpu or memory) has to have the `AverageValue` type for the "
            "fallback to be enabled",
            reason="incorrect-fallback",
            field="spec.fallback",
        )


def _check_rivals(spec: ScalingSpec, around: Neighbourhood) -> Iterator[Denial]:
    """Yield at most one denial: each object of a large collision names the first one that it collides with."""
    for other in around.rivals:
        if other.name == spec.name:
            continue
        if _same(other.target, spec.target):
            yield Denial(
                message=f"{_workload(spec.target)} is already managed by the ScaledObject '{other.name}'",
                reason="other-scaled-object",
                field=f"{_TARGET}.name",
            )
            return
        if other.hpa_name == spec.hpa_name:
            yield Denial(
                message=f"the HPA '{other.hpa_name}' is already managed by the ScaledObject '{other.name}'",
                reason="other-scaled-object-hpa",
                field=_HPA_NAME,
            )
            return


def _check_hpas(obj: ScaledObject, spec: ScalingSpec, around: Neighbourhood) -> Iterator[Denial]:
    config = obj.spec.advanced.horizontal_pod_autoscaler_config if obj.spec.advanced else None
    # An HPA with our default name is not taken over unless the manifest names it.
    written_name = config.name if config else ""
    for hpa in around.hpas:
        meta = hpa.metadata
        owned = any(owner.kind == "ScaledObject" and owner.name == spec.name for owner in meta.owner_references)
        if owned or meta.annotations.get(NOT_OURS) == "false" or not _same(_target_of(hpa), spec.target):
            continue
        if spec.annotations.get(TRANSFER_OWNERSHIP) != "true":
            yield Denial(
                message=f"{_workload(spec.target)} is already managed by the hpa '{meta.name}'",
                reason="other-hpa",
                field=f"{_TARGET}.name",
            )
        elif written_name != meta.name:
            yield Denial(
                message=f"the existing hpa '{meta.name}' for {_workload(spec.target).removeprefix('the ')} must be "
                "specified by name in advanced settings to enable ownership transfer",
                reason="transfer-ownership-missing-hpa-name",
                field=_HPA_NAME,
            )


def _check_intervals(obj: ScaledObject, spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Warn of settings for scaling to zero, or to the idle count, on an object that does neither."""
    if not spec.min_replicas or spec.idle_replicas is not None:
        return
    cached = any(trigger.use_cached_metrics for trigger in spec.triggers)
    if obj.spec.polling_interval is not None and not cached:
        yield AdmissionWarning(
            message="PollingInterval is configured but is not relevant. PollingInterval is only relevant when "
            "minReplicaCount = 0, idleReplicaCount is set, or useCachedMetrics is enabled",
            field="spec.pollingInterval",
            recorded=True,
            code=codes.INTERVAL_UNUSED,
        )
    if obj.spec.cooldown_period is not None:
        yield AdmissionWarning(
            message="CooldownPeriod is configured but is not relevant. CooldownPeriod is only relevant when "
            "minReplicaCount = 0 or idleReplicaCount is set",
            field="spec.cooldownPeriod",
            recorded=True,
            code=codes.INTERVAL_UNUSED,
        )


def _same(one: TargetSpec, other: TargetSpec) -> bool:
    return (one.name, one.kind_name) == (other.name, other.kind_name)


def _target_of(hpa: "HorizontalPodAutoscaler") -> TargetSpec:
    reference = hpa.spec.scale_target_ref
    return TargetSpec(
        name=reference.name,
        api_version=reference.api_version or "apps/v1",
        kind=reference.kind or "Deployment",
        container="",
    )


def _workload(target: TargetSpec) -> str:
    return f"the workload '{target.name}' of type '{target.kind_name}'"


# scalingModifiers -> findings: denies formulas and targets that no metric can be built from.
#
# Pure. `composite.py` decides; behaviour reference, section 9.

# KEDA reads this field after admission, so a wrong value is only a warning.
_LATE = "spec.advanced.scalingModifiers.activationTarget"


def check_modifiers(spec: ScalingSpec) -> Iterator[Finding]:
    """Yield at most one finding: of several faults the first hides the others, as in KEDA."""
    if spec.modifiers is None:
        if spec.fallback is not None and spec.fallback.behavior == "scalingModifiers":
            yield _without_formula()
        return
    try:
        build_composite(spec)
    except ConfigError as error:
        late = error.field == _LATE
        yield _warn_late(error) if late else _in_kedas_form(error)


def _warn_late(error: ConfigError) -> AdmissionWarning:
    return AdmissionWarning(message=str(error), field=_LATE, code=codes.ACTIVATION_TARGET)


def _in_kedas_form(error: ConfigError) -> Denial:
    """Put the step on its own line, as KEDA does: "error validating formula in ScalingModifiers", then the fault."""
    step, _, text = str(error).partition(": ")
    lines = f"{step}\n{text}" if step.endswith("in ScalingModifiers") else str(error)
    return deny(ConfigError(lines, field=error.field), "scaling-modifiers")


def _without_formula() -> Denial:
    return Denial(
        message="scalingModifiers fallback behavior requires scalingModifiers.formula to be defined",
        reason="scaling-modifiers-fallback",
        field="spec.fallback.behavior",
    )
