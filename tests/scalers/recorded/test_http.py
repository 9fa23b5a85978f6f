"""Exchanges of KEDA, 1 736 of them, played with our scalers: requests, metrics, values, activity and errors are the same.

One type, all that differs, and one exchange alone:

    EXCHANGES=all python -m pytest tests/scalers/recorded/test_http.py -k "recorded[rabbitmq]"
    EXCHANGES="value number" python -m pytest tests/scalers/recorded/test_http.py -k "recorded[rabbitmq]"

Without EXCHANGES the exchanges of tier 1 are played, 20 a type at most. A difference that is meant to be goes with its
reason into `differences/<trigger type>.toml`, table `http`.
"""

import pytest

from keda_py.sdk.registry import trigger_types
from tests.scalers.recorded.differences import check_differences
from tests.scalers.recorded.http_cases import recorded_exchanges
from tests.scalers.recorded.stage import Stage

KNOWN = [name for name in recorded_exchanges() if name in trigger_types()]


@pytest.mark.parametrize("trigger_type", KNOWN)
async def test_a_source_is_asked_and_understood_as_recorded(trigger_type: str, stage: Stage) -> None:
    cases = recorded_exchanges()[trigger_type]
    played = [case for case in cases if case.is_wanted]
    found = {case.name: difference for case in played if (difference := await case.difference(stage))}
    others = [case.name for case in cases if not case.is_wanted]
    check_differences("http", trigger_type, found, [case.name for case in played], others)
