"""How many generated cases a property test tries: `examples(400)` are 400 in the suite and 4 000 in `make fuzz`."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings

EXAMPLES, EXPLORED = 100, 1000
"""Of a test that does not say: in the suite, in `make fuzz`."""


def examples(count: int, **others: Any) -> settings:
    """Settings of one test; generation that is slow or picky is no failure."""
    times = settings().max_examples // EXAMPLES
    return settings(max_examples=count * times, suppress_health_check=list(HealthCheck), **others)


def explored(count: int) -> settings:
    """Settings of a test that is dear: in the suite its named examples are played, in `make fuzz` so many others, too."""
    phases = list(Phase) if settings().max_examples > EXAMPLES else [Phase.explicit]
    return settings(max_examples=count, phases=phases, suppress_health_check=list(HealthCheck))
