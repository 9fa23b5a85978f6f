"""Whatever a scaler raises becomes an error of ours, with a text that is safe and short enough to be shown."""

import pytest

from keda_py.errors import ConfigError, KubeError, ScalerError
from keda_py.readings.guard import LONGEST_TEXT, guard
from keda_py.readings.tracked_metrics import check_reading


async def raising(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error", [ConfigError("x" * 10**6, field="url"), ScalerError("x" * 10**6), KubeError("x" * 10**6)]
)
async def test_an_error_that_repeats_a_long_text_is_cut(error: Exception) -> None:
    with pytest.raises((ConfigError, ScalerError)) as raised:
        await guard(raising(error), 1.0, what="a scaler")
    assert len(str(raised.value)) < LONGEST_TEXT + 50
    assert not isinstance(error, ConfigError) or raised.value.field == "url"  # type: ignore[union-attr]


def test_an_error_of_one_of_several_is_cut_too() -> None:
    outcome = check_reading(ScalerError("x" * 10**6), "redis")
    assert str(outcome).endswith("xxx... (1000000 characters)")


async def test_a_short_error_stays_as_it_is() -> None:
    with pytest.raises(ScalerError, match="^no answer$"):
        await guard(raising(ScalerError("no answer")), 1.0, what="a scaler")
