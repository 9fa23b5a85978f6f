"""The account of what an object's sleep saves (`core/savings/`), carried from look to look.

It is stored with the writes that a changed reason causes (`status.py`); by itself once in six hours at most, where
counts have moved that a restart could not know of.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from keda_py.apis.foreign import map_at
from keda_py.core.decision import Reason
from keda_py.core.savings.ledger import Ledger, LedgerState, kept, note, read_ledger
from keda_py.core.spec import ScalingSpec
from keda_py.operator.decisions.pruned_fields import SAVINGS
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.status import savings_of

_FAILS = (Reason.AWAITING_FALLBACK, Reason.TRIGGERS_FAIL)


def account_look(state: ObjectState, look: Look) -> Ledger | None:
    """Up to a look; None while no count has been known."""
    seen = look.seen.replicas
    count = seen if look.scaled_to is None else look.scaled_to
    if count is None:
        return _stored(state)
    held = LedgerState(count=count, instead=max(look.spec.min_replicas, 1), failing=count > 0 and _fails(look))
    return note(_stored(state), look.at, held, before=seen)


def account_pause(state: ObjectState, spec: ScalingSpec, now: datetime, replicas: int | None) -> Ledger | None:
    """Up to a pause at that count, None: as it was. What was its minimum before counts: an overlay's is 0."""
    stored = _stored(state)
    if stored is not None:
        count = stored.held.count if replicas is None else replicas
        return note(stored, now, LedgerState(count=count, instead=stored.held.instead))
    return None if replicas is None else note(None, now, LedgerState(count=replicas, instead=max(spec.min_replicas, 1)))


def note_kept(state: ObjectState, written: Mapping[str, Any]) -> None:
    """The status has been written; where the account was part of it, that is what a restart goes on from."""
    if SAVINGS in written and state.ledger is not None:
        state.ledger = kept(state.ledger)


def last_account(state: ObjectState) -> dict[str, Any]:
    """Before the process ends, what a restart could not know otherwise."""
    return savings_of(state.ledger) if state.ledger is not None and state.ledger.moved else {}


def _fails(look: Look) -> bool:
    """Whether nothing but failing sources keeps it up: none says that it is active, and one cannot say."""
    if look.decision.reason in _FAILS:
        return True
    if not look.in_fallback or not look.evaluation.active:
        return False
    failing = {name for name, health in look.health.items() if health.failures}
    return failing.issuperset(look.evaluation.active_metrics)


def _stored(state: ObjectState) -> Ledger | None:
    """The account in memory, after a start the one in the status."""
    return state.ledger or read_ledger(map_at(dict(state.status), SAVINGS))
