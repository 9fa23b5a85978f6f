"""What an operator's process does without: libraries of others' command lines, and memory that nothing uses."""

import subprocess
import sys

import pytest

OPERATOR = """
from keda_py.cli.operator import leave_out_unused
leave_out_unused()
import keda_py.operator.app
"""
REDIS = "import scalers.redis"
KEPT = """
import gc
from keda_py.operator.process.memory import allocate_sparingly, collect_seldom
allocate_sparingly()
collect_seldom()
print(gc.get_freeze_count() > 1000, gc.get_threshold()[0] > 10_000)
"""


def said(script: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("script", "libraries"),
    [
        pytest.param(OPERATOR, ("rich", "click", "pygments"), id="command lines"),
        pytest.param(REDIS, ("opentelemetry.sdk.metrics",), id="telemetry of redis-py"),
    ],
)
def test_a_library_that_is_not_used_is_not_imported(script: str, libraries: tuple[str, ...]) -> None:
    look = f"import sys; print(*(name for name in {libraries!r} if name in sys.modules))"
    assert said(f"{script}\n{look}") == ""


def test_what_is_left_out_for_redis_can_be_imported_afterwards() -> None:
    assert said(f"{REDIS}\nfrom opentelemetry.sdk.metrics import MeterProvider\nprint(MeterProvider.__name__)") != ""


def test_what_there_is_at_the_start_is_not_searched_for_garbage() -> None:
    assert said(KEPT) == "True True"
