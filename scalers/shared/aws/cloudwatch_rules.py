"""CloudWatch's rules for a metric, its unit and its times."""

from collections.abc import Mapping, Sequence

from keda_py.sdk.scaler import ConfigError

_SIZES = ("Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes")
_BITS = ("Bits", "Kilobits", "Megabits", "Gigabits", "Terabits")
_RATES = tuple(f"{unit}/Second" for unit in (*_SIZES, *_BITS, "Count"))
_UNITS = ("Seconds", "Microseconds", "Milliseconds", *_SIZES, *_BITS, "Percent", "Count", *_RATES, "None")
_SHORT_PERIODS = (1, 5, 10, 30)


def check_metric(named: Mapping[str, str], names: Sequence[str], values: Sequence[str], unit: str) -> None:
    """Check names, dimensions in pairs, and the unit. Raises ConfigError."""
    for key, given in (*named.items(), ("dimensionName", names), ("dimensionValue", values)):
        if not given:
            raise ConfigError(f"{key} not given: set it, or expression", field=key)
    if len(names) != len(values):
        message = f"dimensionName and dimensionValue are not matching in size: {len(names)} and {len(values)}"
        raise ConfigError(f"{message}: write as many, divided by ;", field="dimensionValue")
    if unit and unit not in _UNITS:
        raise ConfigError(f"metricUnit '{unit}' is not one of {', '.join(_UNITS)}", field="metricUnit")


def check_window(period: int, collection: int) -> None:
    """Check period, offset and window, in seconds. Raises ConfigError."""
    if period not in _SHORT_PERIODS and (period < 60 or period % 60):
        message = f"metricStatPeriod: {period} is not allowed: write 1, 5, 10, 30 or a multiple of 60"
        raise ConfigError(message, field="metricStatPeriod")
    if collection < 0 or collection % period:
        message = f"metricCollectionTime: {collection} is not a multiple of metricStatPeriod ({period})"
        raise ConfigError(message, field="metricCollectionTime")
