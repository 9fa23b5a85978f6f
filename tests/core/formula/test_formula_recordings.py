"""197 formulas answered by expr-lang 1.17.8 itself: the same value, or refused here as well."""

import json
import math
from datetime import UTC, datetime

import pytest

from keda_py.core.formula.formula import FormulaError, compile_formula
from keda_py.errors import ConfigError
from tests.places import GOLDEN

RECORDED = json.loads((GOLDEN / "formula.json").read_text())
NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["expr"][:60])
def test_a_formula_has_the_value_that_expr_gave_it_or_is_refused(case):
    try:
        got = compile_formula(case["expr"], RECORDED["env"]).evaluate(RECORDED["env"], NOW)
    except (ConfigError, FormulaError):
        assert "error" in case
        return
    assert "value" in case, f"expr refused: {case['message']}"
    wanted = None if case["value"] == "<nil>" else float(case["value"])
    assert got == wanted or (wanted is not None and math.isnan(wanted) and got is not None and math.isnan(got))
