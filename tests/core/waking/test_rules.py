"""The document in which operator and wakers tell each other the rules of a Service."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.rules import (
    Ignored,
    Page,
    WakerPort,
    WakeRules,
    WakeState,
    WavePart,
    read_rules,
    write_rules,
)
from keda_py.errors import ConfigError

RULES = WakeRules(
    owner_kind="Environment",
    owner_name="night",
    service_name="web",
    service_uid="1234",
    state=WakeState.WAKING,
    hold=120,
    page=Page.CONFIRM,
    ignored=Ignored(paths=("/healthz",), user_agents=("kube-probe/*",), status=200),
    waves=(WavePart(name="db", ready=1, total=1), WavePart(name="rest", ready=0, total=3)),
    usual=95,
    ready_at=datetime(2026, 11, 26, 22, 1, 35, tzinfo=UTC),
    kept_up_by="Override late",
    ports=(WakerPort(name="http", port=20000, service_port=80),),
)


def test_a_document_says_what_was_written() -> None:
    assert read_rules(write_rules(RULES)) == RULES


def test_unknown_keys_are_ignored_so_that_versions_may_differ() -> None:
    assert read_rules(json.dumps(json.loads(write_rules(RULES)) | {"later": [1]})) == RULES


@pytest.mark.parametrize(
    "change",
    [
        {"state": "Sleepy"},
        {"hold": -1},
        {"hold": True},
        {"ports": [{"name": "http", "port": 80, "servicePort": 80}]},
        {"ports": [{"name": "http"}]},
        {"owner": None},
        {"readyAt": "tomorrow"},
    ],
    ids=str,
)
def test_a_document_that_is_wrong_is_refused_by_its_annotation(change: dict[str, Any]) -> None:
    text = json.dumps(json.loads(write_rules(RULES)) | change)
    with pytest.raises(ConfigError, match="keda-py.dev/waker"):
        read_rules(text)


@given(st.text(max_size=200) | st.builds(lambda depth: "[" * depth, st.integers(0, 60_000)))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_rules(text)
