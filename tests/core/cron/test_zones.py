"""Names of time zones: what was meant by a name that is not known, and that it is said once."""

import pytest

from keda_py.core.cron.zones import load_zone, zone_remedy
from keda_py.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("KST", "Asia/Seoul"),
        ("kst", "Asia/Seoul"),
        ("Asia/Soul", "Asia/Seoul"),
        ("asia/seoul ", "Asia/Seoul"),
        ("Seoul", "Asia/Seoul"),
        ("America/New York", "America/New_York"),
        ("Europe/Pargue", "Europe/Prague"),
        ("PDT", "America/Los_Angeles"),
    ],
)
def test_the_nearest_zone_is_named(written: str, meant: str) -> None:
    assert zone_remedy(written) == f"did you mean {meant}?"
    assert load_zone(meant).key == meant


@pytest.mark.parametrize("written", ["Mars/Olympus", "", "x" * 255, "../../etc/passwd"])
def test_where_none_comes_near_the_form_is_told(written: str) -> None:
    assert zone_remedy(written) == "write an IANA name, e.g. Europe/Prague or UTC"


def test_a_refusal_says_each_thing_once() -> None:
    with pytest.raises(ConfigError) as refusal:
        load_zone("Asia/Soul")
    assert str(refusal.value) == "timezone: 'Asia/Soul' is not a known time zone; did you mean Asia/Seoul?"
