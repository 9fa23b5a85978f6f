"""How many generated cases a property test tries: `examples(400)` are 400 in `.ci/run`, 160 in `make test` and 4 000 in
`make fuzz`."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.sweeps import size

ALL = 100
"""Of a test that does not say, where all is swept."""
EXAMPLES, EXPLORED = size(ALL, 40), 10 * ALL
"""Of a test that does not say: in the suite, in `make fuzz`."""
FEWEST = 20
"""So many are tried always, where a test asks for as many."""


def examples(count: int, **others: Any) -> settings:
    """Settings of one test; generation that is slow or picky is no failure."""
    tried = max(count * settings().max_examples // ALL, min(count, FEWEST))
    return settings(max_examples=tried, suppress_health_check=list(HealthCheck), **others)


def explored(count: int) -> settings:
    """Settings of a test that is dear: in the suite its named examples are played, in `make fuzz` so many others, too."""
    phases = list(Phase) if settings().max_examples > EXAMPLES else [Phase.explicit]
    return settings(max_examples=count, phases=phases, suppress_health_check=list(HealthCheck))
