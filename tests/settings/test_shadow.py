"""Settings that contradict `--shadow` are refused, and its report is for this machine only."""

import pytest

from keda_py.errors import ConfigError
from keda_py.settings.parsers import Address
from keda_py.settings.settings import load_settings


def test_its_report_is_on_loopback_alone() -> None:
    assert load_settings({}, {}).shadow.report == Address(host="127.0.0.1", port=8082)
    assert load_settings({"shadow-report-address": ["[::1]:0"]}, {}).shadow.report == Address(host="::1", port=0)


@pytest.mark.parametrize("text", ["0", "", ":8082", "0.0.0.0:8082", "192.0.2.7:8082", "localhost:8082", "127.0.0.1"])
def test_an_address_that_others_reach_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--shadow-report-address"):
        load_settings({"shadow-report-address": [text]}, {})


@pytest.mark.parametrize("flag", [{"leader-elect": ["true"]}, {"register": ["https://192.0.2.7"]}])
def test_a_shadow_leads_nothing_and_answers_no_hpa(flag: dict[str, list[str]]) -> None:
    with pytest.raises(ConfigError, match="means nothing with --shadow"):
        load_settings({"shadow": ["true"], **flag}, {})
