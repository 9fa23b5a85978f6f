"""Kills of the operator, as the tests of Environments have them."""

from tests.operator.environments.conftest import kills

__all__ = ["kills"]
