"""What the registry says about triggers as they are written: types that nobody serves, keys that nobody reads.

KEDA accepts both and fails, or ignores the key, later; here admission warns and `keda-py validate` reports them.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import AdmissionWarning
from keda_py.errors import ConfigError
from keda_py.registry import scaler_class


def warn_of_triggers(triggers: Sequence[ScaleTrigger]) -> Iterator[AdmissionWarning]:
    """One warning for each unknown type, and for each unknown key of a known type."""
    for index, trigger in enumerate(triggers):
        field = f"spec.triggers[{index}]"
        try:
            yield from warn_of_keys(trigger, field)
        except ConfigError as error:
            yield AdmissionWarning(message=f"{field}.type: {error}", field=f"{field}.type")


def warn_of_keys(trigger: ScaleTrigger, field: str) -> Iterator[AdmissionWarning]:
    """The metadata keys that no code reads, with the nearest that is read. Raises ConfigError for an unknown type."""
    model = scaler_class(trigger.type).metadata_model
    known = [name for key in model.declared_keys() if not key.removed for name in key.names]
    for unknown in model.unknown_keys(trigger.metadata):
        near = get_close_matches(unknown, known, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"`keda-py scalers {trigger.type}` lists its keys"
        path = f"{field}.metadata.{unknown}"
        yield AdmissionWarning(message=f"{path}: {trigger.type} does not read this key; {hint}", field=path)
