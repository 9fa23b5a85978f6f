"""Triggers -> findings: each is read by its scaler's own model and, where nothing is missing, made into the scaler.

A scaler does no I/O before it is opened, so this needs no source and no cluster. What comes from a container's
environment or a TriggerAuthentication is not known here; only what is wrong whatever that is, is said.
`keda-py validate` reports it. KEDA admits such triggers, and fails at them or ignores a key later: admission warns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError
from keda_py.sdk import registry
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.contract import Scaler, Trigger
from keda_py.sdk.registry import AnyScaler
from keda_py.sdk.scaler_context import MetricType


def warn_of_triggers(triggers: Sequence[ScaleTrigger], shared_context: SharedContext) -> Iterator[AdmissionWarning]:
    """Warn of everything wrong or doubtful in any trigger."""
    for index, trigger in enumerate(triggers):
        parameters = frozenset[str]() if trigger.authentication_ref is None else None
        for finding in check_trigger(trigger, parameters, context_of(trigger, index, shared_context, None), None):
            text = finding.message if finding.field in finding.message else f"{finding.field}: {finding.message}"
            yield AdmissionWarning(message=text, field=finding.field, code=finding.code)


def check_trigger(
    trigger: ScaleTrigger, parameters: frozenset[str] | None, context: EngineContext, spec: ScalingSpec | None
) -> Iterator[Finding]:
    """Find what is certainly wrong in one trigger; `parameters` of its authentication, None: not known which.

    `spec` None: of a ScaledJob, whose triggers make no HPA metrics.
    """
    field = f"spec.triggers[{context.trigger_index}]"
    try:
        yield from _warn_of_keys(trigger, field)
        yield from _warn_of_deprecated(trigger, field)
        model = registry.scaler_class(trigger.type).metadata_model
    except ConfigError as error:
        yield _deny(str(error), f"{field}.type")
        return
    problems = model.certain_problems(trigger.metadata, parameters, trigger_type=trigger.type)
    for key, sentence in problems.items():
        yield _deny(sentence, f"{field}.metadata.{key}".removesuffix("."))
    complete = trigger.authentication_ref is None and not any("FromEnv" in key for key in trigger.metadata)
    if complete and not problems:
        yield from _check_built(trigger, context, spec)


def context_of(
    trigger: ScaleTrigger, index: int, shared_context: SharedContext, spec: ScalingSpec | None
) -> EngineContext:
    """Make a context that is complete enough for a scaler that is never opened."""
    return EngineContext(
        shared_context=shared_context,
        namespace=spec.namespace if spec else "default",
        scaled_object=spec.name if spec else "",
        trigger_index=index,
        trigger_name=trigger.name,
        # Written by a user and checked by the scaler, or by `name_metrics`.
        metric_type=cast(MetricType, trigger.metric_type),
        as_metric_source=spec is not None and spec.modifiers is not None,
    )


def _check_built(trigger: ScaleTrigger, context: EngineContext, spec: ScalingSpec | None) -> Iterator[Denial]:
    field = f"spec.triggers[{context.trigger_index}]"
    try:
        scaler = registry.build(Trigger(type=trigger.type, metadata=trigger.metadata), context)
        if spec is not None:
            _name(scaler, context.trigger_index, spec)
    except ConfigError as error:
        for mistake in error.each:
            yield _deny(str(mistake), _path(field, trigger, mistake.field))
        return
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and must not end the answer to a request
        yield _deny(f"{field}: {trigger.type} fails with {type(error).__name__}: a bug in that scaler", field)
        return
    for caution in scaler.cautions:
        yield _deny(caution, _path(field, trigger, caution.partition(":")[0]))


def _path(field: str, trigger: ScaleTrigger, key: str) -> str:
    """Place of an error: a path that it knows itself, a metadata key, or another field of the trigger."""
    if key.startswith("spec."):
        return key
    declared = registry.scaler_class(trigger.type).metadata_model.declared_keys()
    inside = ".metadata" if any(key in one.names for one in declared) else ""
    return f"{field}{inside}.{key}" if key else field


def _name(scaler: AnyScaler, index: int, spec: ScalingSpec) -> None:
    """Check metricType and name where they follow from the metadata; other specs may be asked of a server."""
    if type(scaler).specs is Scaler.specs:
        metric = ExternalMetric(name=scaler.metric_name, target=scaler.target)
        alone = replace(spec, modifiers=None)  # the formula has been judged by the admission checks
        name_metrics(alone, [(metric,) if at == index else () for at in range(len(spec.triggers))])


def _deny(message: str, field: str) -> Denial:
    return Denial(message=message, reason="incorrect-triggers", field=field)


def _warn_of_keys(trigger: ScaleTrigger, field: str) -> Iterator[AdmissionWarning]:
    """Warn of metadata keys that no code reads, with the nearest known one. Raises ConfigError for an unknown type."""
    model = registry.scaler_class(trigger.type).metadata_model
    known = [name for key in model.declared_keys() if not key.removed for name in key.names]
    for unknown in model.unknown_keys(trigger.metadata):
        from difflib import get_close_matches  # for mistakes alone

        near = get_close_matches(unknown, known, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"`keda-py scalers {trigger.type}` lists its keys"
        path = f"{field}.metadata.{unknown}"
        text = f"{path}: {trigger.type} does not read this key; {hint}"
        yield AdmissionWarning(message=text, field=path, code=codes.UNKNOWN_KEY)


def _warn_of_deprecated(trigger: ScaleTrigger, field: str) -> Iterator[AdmissionWarning]:
    for name, text in registry.scaler_class(trigger.type).metadata_model.deprecated_keys(trigger.metadata).items():
        path = f"{field}.metadata.{name}"
        yield AdmissionWarning(message=f"{path}: {trigger.type}: {text}", field=path, code=codes.DEPRECATED)
