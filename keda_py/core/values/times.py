"""Instants as texts of Kubernetes."""

from datetime import UTC, datetime


def write_time(at: datetime) -> str:
    """An instant as Kubernetes writes it, to the second."""
    return f"{at.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"
