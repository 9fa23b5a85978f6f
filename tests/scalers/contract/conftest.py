"""Certificates, once a session."""

from tests.scalers.recorded.conftest import papers

__all__ = ["papers"]
