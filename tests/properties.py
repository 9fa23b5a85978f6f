"""How many generated cases a property test tries: `examples(400)` are 400 in the suite and 4 000 in `make fuzz`."""

from typing import Any

from hypothesis import HealthCheck, settings

EXAMPLES, EXPLORED = 100, 1000
"""Of a test that does not say: in the suite, in `make fuzz`."""


def examples(count: int, **others: Any) -> settings:
    """Settings of one test; generation that is slow or picky is no failure."""
    times = settings().max_examples // EXAMPLES
    return settings(max_examples=count * times, suppress_health_check=list(HealthCheck), **others)
