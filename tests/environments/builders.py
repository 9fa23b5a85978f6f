"""Environments as they are stored; it is Friday 2026-11-20 17:20 UTC, 18:20 in Prague."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.apis.environments.environment import Environment
from keda_py.terminal.times import Times

NOW = datetime(2026, 11, 20, 17, 20, tzinfo=UTC)
PRAGUE = Times(now=NOW, zone=ZoneInfo("Europe/Prague"))
SLEEPS = {"at": "2026-11-20T18:30:00Z", "to": "Asleep", "because": "end of the hours Mon-Fri 08:30-19:30"}
WAKES = {"at": "2026-11-23T07:30:00Z", "to": "Awake", "because": "hours Mon-Fri 08:30-19:30"}
EVENING = {
    "name": "dev-wake-x7k2p",
    "state": "Awake",
    "until": "2026-11-20T21:00:00Z",
    "requestedBy": "jana",
    "reason": "release night",
}


def stored(**status: Any) -> Environment:
    """Open in the office's hours; awake with 7 of 9 ready, unless `status` says otherwise."""
    usual = {"phase": "Awake", "because": "hours Mon-Fri 08:30-19:30", "ready": "7/9", "nextChange": SLEEPS}
    return Environment.model_validate(
        {
            "metadata": {"name": "dev", "namespace": "shop", "creationTimestamp": "2026-11-01T00:00:00Z"},
            "spec": {"calendarRef": {"name": "office"}},
            "status": usual | {"phaseSince": "2026-11-20T07:30:00Z"} | status,
        }
    )
