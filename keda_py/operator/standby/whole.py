"""A replica that works on everything: the only one, or the leader. Its share looks like one of several.

`rights.py` puts these in the place of an `Election` and a `Membership` (`kube/leases/`), so that no other part asks in
which of the three ways an operator runs.
"""

from keda_py.core.sharding.share import Share
from keda_py.kube.leases.lease import Election, Term
from keda_py.kube.leases.lease_record import Holder


class Alone:
    """The election of the only replica: it leads from the start to the end."""

    is_leader = True
    holder: Holder | None = None
    identity = ""

    async def watch(self) -> None:
        """Follow nothing."""

    async def run(self, term: Term, address: str = "") -> None:
        """Do `term` once; no other replica asks for the address."""
        await term()

    async def release(self) -> None:
        """Give nothing back."""


class Whole:
    """The membership of a replica that owns everything while it leads."""

    identity = ""
    """Shares are shown by replica; this one is no part of any."""
    share: Share | None = None

    def __init__(self, election: Election | Alone) -> None:
        self._election = election

    @property
    def is_live(self) -> bool:
        """Whether we may write at all."""
        return self._election.is_leader

    def owns(self, key: str) -> bool:
        """Whether an object is ours to work on now."""
        return self._election.is_leader

    def holder_of(self, key: str) -> Holder | None:
        """Which other replica to ask: the leader. None if that is us, or not known."""
        holder = self._election.holder
        return None if holder is None or holder.identity == self._election.identity else holder

    async def release(self) -> None:
        """Give nothing back: the Lease is the election's."""
