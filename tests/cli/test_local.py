"""`keda-py local` as people see it: nothing of its own making is told as a fault."""

import logging

import pytest

from keda_py.cli.processes.local import without_own_stalls
from keda_py.operator.process import watchdog

BLOCKED = "the event loop was blocked"


def blocked(caplog: pytest.LogCaptureFixture, *culprits: str) -> list[str]:
    caplog.clear()
    for culprit in culprits:
        watchdog.log.warning(BLOCKED, extra={"culprit": culprit, "seconds": 0.4})
    return [str(getattr(record, "culprit", "")) for record in caplog.records]


def test_the_loop_that_the_embedded_cluster_shares_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    own = ("keda_py.localkube.store.store.create", "keda_py.cli.processes.local.run", "elsewhere")
    with caplog.at_level(logging.WARNING), without_own_stalls():
        assert blocked(caplog, *own, "scaler acme") == ["scaler acme"]
    with caplog.at_level(logging.WARNING):
        assert blocked(caplog, *own) == list(own)
