"""The very operator on virtual time, to judge previews by."""

from tests.operator.conftest import quiet_world, server

__all__ = ["quiet_world", "server"]
