"""`scalers/README.md` is what the scalers declare."""

from keda_py.sdk.reference import render_reference
from keda_py.sdk.registry import scaler_class, trigger_types
from tests.places import ROOT

README = ROOT / "scalers" / "README.md"


def test_the_table_of_scalers_is_in_step_with_their_declarations() -> None:
    remedy = "run: python -m keda_py.sdk.reference > scalers/README.md"
    assert README.read_text(encoding="utf-8") == render_reference(), remedy


def test_every_type_has_its_own_names_for_its_keys() -> None:
    for trigger_type in trigger_types():
        slots = [
            (source, name)
            for key in scaler_class(trigger_type).metadata_model.declared_keys()
            for source in key.order
            for name in key.names
        ]
        assert len(slots) == len(set(slots)), trigger_type
