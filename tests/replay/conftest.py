"""The operator on virtual time, by which previews are judged."""

from tests.operator.conftest import quiet_world, server

__all__ = ["quiet_world", "server"]
