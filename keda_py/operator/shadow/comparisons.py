"""Comparisons of both sides, passed on to ledger, log, Prometheus, and the record of triggers."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from keda_py.clock import Clock
from keda_py.core.reading import Round
from keda_py.core.shadow.comparison import Claim
from keda_py.operator.controller.state import Remembered, about
from keda_py.operator.shadow.ledger import Disagreements
from keda_py.operator.shadow.trace_record import TraceRecord
from keda_py.telemetry.shadow_metrics import ShadowMetrics

# Patience beyond a polling interval: the other side's API calls, and the HPA controller's sync, take their time.
SLACK = timedelta(seconds=30)
PAUSED = "paused by annotation: neither side scales it"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """The comparisons of ScaledObjects and ScaledJobs together."""

    clock: Clock
    ledger: Disagreements
    metrics: ShadowMetrics
    recorded: TraceRecord

    def note(
        self, state: Remembered, claims: tuple[Claim, ...], patience: timedelta, seen: Round | None = None
    ) -> None:
        """Pass on one look; `seen` is None if nothing was read."""
        now = self.clock.now()
        for claim in self.ledger.note(state.key, claims, now, patience):
            self.metrics.record_found(claim.matter.value)
            sides = {"matter": claim.matter.value, "ours": claim.ours.value, "theirs": claim.theirs.value}
            log.warning("the sides disagree", extra=about(state) | sides | {"metric": claim.subject})
        if seen is not None:
            self.recorded.note(state.key, seen, now)
        self._show(state)

    def skip(self, state: Remembered, why: str) -> None:
        """Note that it cannot be compared, and why."""
        self.ledger.skip(state.key, why, self.clock.now())
        self._show(state)

    def forget(self, state: Remembered) -> None:
        """End the disagreements of an object that is gone."""
        self.ledger.forget(state.key, self.clock.now())
        self.metrics.forget(state.key)
        self.recorded.forget(state.key)

    def _show(self, state: Remembered) -> None:
        holding = [one.claim.matter.value for one in self.ledger.holding_of(state.key)]
        self.metrics.record_holding(state.key, holding)
