"""The triggers of `tests/readings` on sources that tests control."""

from tests.readings.conftest import lent, world

__all__ = ["lent", "world"]
