"""Savings of an Environment's own workloads: an account of each, in the Environment's status.

A ScaledObject has its own account, and a CronJob has no replicas. An account is updated when its workload goes to 0 or
comes back, with the status write of that moment; other changes of the count at most once an hour. A workload that is
scaled to 0 by others saves nothing here, because no count to come back to is known.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from keda_py.apis.environments.environment import MOST_WITH_DAYS, EnvironmentStatus
from keda_py.apis.foreign import map_at
from keda_py.apis.scaled_object_status import SavingsStatus
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Role
from keda_py.core.environment.decision.state import EnvironmentState
from keda_py.core.savings.ledger import Ledger, LedgerState, note, read_ledger, write_ledger

UP_SECONDS = timedelta(hours=1)
"""Shortest time between two updates while counts stay above 0."""
# Longest time without an update: an account drops what is older than a month.
LONGEST = timedelta(days=7)
Stored = Mapping[str, SavingsStatus]


def stored_accounts(status: Mapping[str, Any]) -> Stored:
    """Return the accounts of a status; accounts that another client has made unreadable begin anew."""
    try:
        return EnvironmentStatus.model_validate({"savings": map_at(dict(status), "savings")}).savings
    except ValueError:
        return {}


def account(
    stored: Stored, seen: EnvironmentSeen, state: EnvironmentState, now: datetime, *, first: bool
) -> dict[str, SavingsStatus]:
    """Return the accounts after a look by member; unchanged ones are as stored.

    `first`: the first look of this process, which cannot know since when a count differs from the stored one.
    """
    own = [one for one in seen.members if one.role is Role.WORKLOAD and not one.owned_by and not one.released]
    found = {}
    for member in own:
        before = stored.get(member.key)
        after = _moved(before, member, state, now, first=first)
        if after is not None:
            days = after if len(own) <= MOST_WITH_DAYS else replace(after, days=())
            found[member.key] = SavingsStatus.model_validate(write_ledger(days))
        elif before is not None:
            found[member.key] = before
    return found


def _moved(
    stored: SavingsStatus | None, member: MemberSeen, state: EnvironmentState, now: datetime, *, first: bool
) -> Ledger | None:
    """The updated account of one member; None if there is nothing to update."""
    if member.count is None:
        return None
    ledger = None if stored is None else read_ledger(stored.model_dump(by_alias=True))
    remembered = state.members.get(member.key)
    instead = 0 if member.count or remembered is None else remembered.replicas
    held = LedgerState(count=member.count, instead=instead)
    if ledger is not None and not _is_due(ledger, held, now):
        return None
    known = ledger if ledger is None or first else replace(ledger, restored=False)
    return note(known, now, held, before=member.count)


def _is_due(ledger: Ledger, held: LedgerState, now: datetime) -> bool:
    since = now - ledger.at
    if not timedelta(0) <= since < LONGEST:
        return True
    if (ledger.held.count > 0) != (held.count > 0) or (held.count == 0 and held != ledger.held):
        return True
    return held != ledger.held and since >= UP_SECONDS
