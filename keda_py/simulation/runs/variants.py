"""Variants of a manifest: `--sweep cooldownPeriod=60..900`, and which of its values is the cheapest that will do."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from keda_py.errors import ConfigError
from keda_py.simulation.runs.run import Result

_VALUES = 8
_MOST_VALUES = 200
_AS_GOOD_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """`field` is a path below `spec`, such as cooldownPeriod or triggers.0.metadata.targetValue."""

    field: str
    values: tuple[float, ...]

    def variants(self, body: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return (cooldownPeriod=60, the manifest with it) for each value. Raises ConfigError for an unknown field."""
        return [(f"{self.field}={value:g}", self._with(body, value)) for value in self.values]

    def _with(self, body: Mapping[str, Any], value: float) -> dict[str, Any]:
        changed: dict[str, Any] = deepcopy(dict(body))
        inner: Any = changed["spec"]
        *way, last = self.field.split(".")
        for name in way:
            inner = _step_into(inner, name, self.field)
        plain = int(value) if value.is_integer() else value
        written: int | float | str = f"{value:g}" if "metadata" in way else plain
        if not isinstance(inner, dict):
            raise ConfigError(f"--sweep: {self.field} is no field of an object; name one such as cooldownPeriod")
        inner[last] = written
        return changed


def _step_into(inner: Any, name: str, field: str) -> Any:
    if isinstance(inner, list) and name.isdigit() and int(name) < len(inner):
        return inner[int(name)]
    if isinstance(inner, dict):
        return inner.setdefault(name, {})
    raise ConfigError(f"--sweep: the manifest has no {field}; name a field below spec, such as cooldownPeriod")


def read_sweep(text: str) -> Sweep:
    """Read `FIELD=60..900`, `FIELD=60..900/120` (a step), or `FIELD=60,300,900`. Raises ConfigError."""
    field, equals, written = text.partition("=")
    try:
        values = _read_values(written)
    except (ValueError, OverflowError):
        values = ()
    if not field or not equals or not values:
        raise ConfigError(f'--sweep: "{text}" is no sweep; write for example cooldownPeriod=60..900, or =60,300,900')
    if len(values) > _MOST_VALUES:
        raise ConfigError(f"--sweep: {len(values)} values are more than {_MOST_VALUES}; take a larger step")
    return Sweep(field=field.removeprefix("spec."), values=tuple(values))


def _read_values(written: str) -> Sequence[float]:
    span, _, step_text = written.partition("/")
    low_text, dots, high_text = span.partition("..")
    if not dots:
        return [float(one) for one in written.split(",")]
    low, high = float(low_text), float(high_text)
    if high <= low:
        return ()
    step = float(step_text) if step_text else (high - low) / (_VALUES - 1)
    if step <= 0 or (high - low) / step > 10 * _MOST_VALUES:
        return ()
    values = [low + index * step for index in range(int((high - low) / step + 1e-9) + 1)]
    whole = low.is_integer() and high.is_integer() and not step_text
    return sorted({float(round(value)) for value in values}) if whole else values


def cheapest(results: Sequence[Result]) -> Result:
    """Find the fewest replica-hours among the results that are under capacity no longer than the best."""
    least = min(result.figures.seconds_short for result in results)
    good = [result for result in results if result.figures.seconds_short <= least + _AS_GOOD_SECONDS]
    return min(good, key=lambda result: result.figures.replica_hours)
