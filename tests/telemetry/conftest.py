"""The triggers of `tests/readings` on sources that tests control."""

from tests.readings.conftest import engine, lent

__all__ = ["engine", "lent"]
