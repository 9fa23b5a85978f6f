"""Every type that asks over HTTP, and a source that answers badly: an error, never a value, and no secret in it.

Where the reference states a value, the table says so. Types of other protocols are tried in their own files.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.scalers.recorded.http_cases import HttpCase, Played, exchange_that_reads
from tests.scalers.recorded.stage import Stage
from tests.scalers.recorded.test_http import KNOWN, recorded_exchanges
from tests.sweeps import swept

READ = [name for name in KNOWN if not recorded_exchanges()[name][0].recorded.get("buildOnly")]
"""Of the others only the building is recorded."""
TRIED = swept(READ, {*READ[::2], "forgejo-runner", "selenium-grid", "graphite", "nsq"})

BAD: Mapping[str, Mapping[str, Any]] = {
    "server error": {"status": 500, "body": {"error": "out of order"}},
    "not allowed": {"status": 401, "body": {}},
    "forbidden": {"status": 403, "body": "no"},
    "nothing": {"status": 200, "body": ""},
    "null": {"status": 200, "body": "null"},
    "a list": {"status": 200, "body": "[]"},
    "an object": {"status": 200, "body": "{}"},
    "a page": {"status": 200, "body": "<html><body>Please log in</body></html>"},
    "ten megabytes": {"status": 200, "body": "9"},  # made whole when it is sent
    "deep": {"status": 200, "body": "[" * 100_000},
    "too late": {"status": 200, "body": "{}", "delayMs": 60_000},
}
STATED: Mapping[tuple[str, str], str] = {
    ("forgejo-runner", "a list"): "no jobs wait: recorded as 0",
    ("forgejo-runner", "null"): "so Forgejo writes that no jobs wait: recorded as 0",
    ("selenium-grid", "an object"): "so a grid without nodes and queue may answer: recorded as 0",
    ("selenium-grid", "null"): "the same",
    ("graphite", "a list"): "no series match: recorded as 0",
    ("nsq", "an object"): "no nsqd knows the topic: recorded as 0",
}
"""(type, answer) -> why it is a value."""


@pytest.mark.parametrize("trigger_type", TRIED)
async def test_a_source_that_answers_badly_gives_an_error(trigger_type: str, stage: Stage) -> None:
    case = exchange_that_reads(trigger_type)
    values = {}
    for name, answer in BAD.items():
        given = case.given(stage, answers=[_whole(name, answer)], polls=1, httpTimeoutMs=800, buildOnly=False)
        played = await case.play(stage, given)
        if not _error(played):
            values[name] = [one.milli for one in played.rounds]
        assert not _error(played).startswith("playing: unexpected"), f"{name}: {_error(played)}"
        assert not [one for one in _secrets(given) if one in _error(played)], f"{name}: {_error(played)}"
    stated = {name for kind, name in STATED if kind == trigger_type}
    assert {name: values[name] for name in values.keys() - stated} == {}
    assert stated <= values.keys(), "stated, but an error"


@pytest.mark.parametrize("trigger_type", READ)
async def test_a_source_that_is_not_there_gives_an_error(trigger_type: str, stage: Stage) -> None:
    case = exchange_that_reads(trigger_type)
    places = {"{{HOST}}": "{{DEADHOST}}", "{{URL}}": "{{DEADURL}}"}
    text = json.dumps(case.recorded)
    for place, dead in places.items():
        text = text.replace(place, dead)
    gone = HttpCase(case.type, json.loads(text))
    played = await gone.play(stage, gone.given(stage, answers=[], polls=1, buildOnly=False))
    assert _error(played)
    assert not [one for one in _secrets(gone.recorded) if one in _error(played)]


def _whole(name: str, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**answer, "body": answer["body"] * 10_000_000} if name == "ten megabytes" else answer


def _error(played: Played) -> str:
    return played.refused or next((one.error for one in played.rounds), "")


def _secrets(given: Mapping[str, Any]) -> Iterator[str]:
    """Collect the parameters of a TriggerAuthentication whose names say that they are secret."""
    for name, value in given.get("auth", {}).items():
        if any(word in name.lower() for word in ("password", "token", "secret", "apikey", "key")) and len(value) > 3:
            yield value
