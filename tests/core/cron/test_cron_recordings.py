"""Every firing recorded from robfig/cron 3.0.1, KEDA's cron library; see the readMe of tests/golden/cron.json."""

import json
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from keda_py.core.cron.windows import check_expression, next_fire
from keda_py.errors import ConfigError
from tests.places import GOLDEN

CASES = json.loads((GOLDEN / "cron.json").read_text())["cases"]
FIRING = [case for case in CASES if "error" not in case]
REFUSED = [case for case in CASES if "error" in case]


def name_case(case: dict[str, Any]) -> str:
    return f"{case['expr']} in {case['timezone']} from {case['from']}"


def fires(case: dict[str, Any]) -> list[datetime]:
    found: list[datetime] = []
    after: datetime | None = datetime.fromisoformat(case["from"])
    while after is not None and len(found) < 4:
        after = next_fire(case["expr"], case["timezone"], after)
        found += [after] if after else []
    return found


@pytest.mark.parametrize("case", FIRING, ids=name_case)
def test_the_next_four_firings_are_those_recorded(case: dict[str, Any]) -> None:
    assert fires(case) == [datetime.fromisoformat(each).astimezone(UTC) for each in islice(case["next"], 4)]


@pytest.mark.parametrize("case", REFUSED, ids=name_case)
def test_what_keda_refuses_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="start: "):
        check_expression(case["expr"], field="start")


def test_all_recorded_cases_are_judged() -> None:
    assert len(FIRING) + len(REFUSED) == 418
