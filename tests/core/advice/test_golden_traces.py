"""The recorded traces with their truth: hours within half an hour of it, outside of it, or nothing."""

import json
import math
from datetime import datetime
from typing import Any

import pytest

from keda_py.core.advice.candidates import Candidate, NoCandidate
from keda_py.core.advice.history import History, sample_history
from tests.core.advice.habits import first_candidate, found_in, is_right
from tests.places import GOLDEN

TRACES: dict[str, Any] = json.loads((GOLDEN / "idle_traces.json").read_bytes())["traces"]


def history_of(trace: dict[str, Any]) -> History:
    first, step = datetime.fromisoformat(trace["start"]).timestamp(), trace["stepSeconds"]
    values = [math.nan if value is None else value for value in trace["values"]]
    return sample_history([first + number * step for number in range(len(values))], values)


@pytest.mark.parametrize("name", TRACES)
def test_what_is_proposed_is_what_is_true(name: str) -> None:
    trace = TRACES[name]
    truth = trace["truth"]
    found = first_candidate(history_of(trace), trace["timeZone"])
    if truth["hours"]:
        assert isinstance(found, Candidate), found
        assert is_right(found.hours, [(each["days"], each["from"], each["to"]) for each in truth["hours"]]), found
    elif truth.get("alwaysAsleep"):
        assert found == Candidate(hours=())
    else:
        assert isinstance(found, NoCandidate), found


@pytest.mark.parametrize("name", TRACES)
def test_a_change_of_habit_is_dated_where_there_is_one_and_nowhere_else(name: str) -> None:
    trace = TRACES[name]
    use = found_in(history_of(trace), trace["timeZone"])
    since = None if isinstance(use, NoCandidate) or use.change is None else use.change.since.isoformat()
    assert since == trace["truth"].get("since")
