"""What an admission says of the kinds of environments."""

from datetime import UTC, datetime

import pytest

from keda_py.apis.environments.override import Override
from keda_py.core.admission.environments import check_new_override
from keda_py.errors import ConfigError

SUNDAY = datetime(2026, 11, 22, 12, tzinfo=UTC)


def written(reason: str, **spec: str) -> Override:
    body = {
        "metadata": {"name": "o", "creationTimestamp": "2026-11-16T12:00:00Z", "generation": 1},
        "spec": {"state": "Awake", "reason": reason, **spec},
    }
    return Override.model_validate(body)


def test_an_edit_of_next_change_is_let_in_at_any_time_as_its_end_is_the_calendars() -> None:
    before, after = (written(reason, until="NextChange") for reason in ("a", "b"))
    assert list(check_new_override(after, before, SUNDAY, 0)) == []


def test_an_edit_to_an_end_that_is_over_is_refused_and_says_how_to_end_it() -> None:
    before, after = written("a", **{"for": "9d"}), written("a", **{"for": "1h"})
    with pytest.raises(
        ConfigError, match="over before it begins; write a later time, or delete the Override to end it"
    ):
        list(check_new_override(after, before, SUNDAY, 0))
