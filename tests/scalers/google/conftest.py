"""The stage of recorded exchanges also plays exchanges that could not be recorded."""

from tests.scalers.recorded.conftest import papers, stage

__all__ = ["papers", "stage"]
