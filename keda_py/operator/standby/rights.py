"""What this replica may write and answer, and which other one to ask.

One replica, one leader among several, and several that share the work are the same here: `WholeMembership` makes the
first two look like a share that is everything. `assembly.py` makes the rights of a process; every part that has to know
who leads, or who owns an object, asks them.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from keda_py.core.sharding.share import Share
from keda_py.core.values.object_key import ObjectKey
from keda_py.external_metrics.authorised_request import AuthorisedRequest
from keda_py.kube.client import KubeClient
from keda_py.kube.leases.lease import Election, Term
from keda_py.kube.leases.lease_record import Holder, LeaseSpec
from keda_py.kube.leases.membership import Membership
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.controller.component import Part
from keda_py.operator.sharding.tenures import Tenures
from keda_py.serving.wake_endpoint import is_report

_KINDS = {resource.plural: resource.kind for resource in (SCALED_OBJECTS, SCALED_JOBS)}


# A replica that works on everything: the only one, or the leader. Its share looks like one of several.
#
# `rights.py` puts these in the place of an `Election` and a `Membership` (`kube/leases/`), so that no other part asks
# in which of the three ways an operator runs.


class SoleElection:
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


class WholeMembership:
    """The membership of a replica that owns everything while it leads."""

    identity = ""
    """Shares are shown by replica; this one is no part of any."""
    share: Share | None = None

    def __init__(self, election: Election | SoleElection) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of a replica. `prepare` and `announce` come to an end, the others go on until cancelled.

    `prepare` comes before any object is worked on, `announce` before anything else that a leader does;
    `follow` is done by every active replica; `lead` is done once for the cluster, `share` for the objects that are
    ours. Both may begin again later, as in a new process.
    """

    prepare: Part
    announce: Part
    follow: Part
    lead: Part
    share: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """`election` says who leads, `membership` whose an object is.

    `shares` are the tenures of the objects that replicas share, `leads_all` those of what only the leader writes about.
    """

    election: Election | SoleElection
    membership: Membership | WholeMembership
    shares: Tenures
    leads_all: Tenures

    def leads(self) -> bool:
        """Whether what is done once for the cluster is ours to do now."""
        return self.election.is_leader

    @property
    def is_alone(self) -> bool:
        """Whether no other replica waits for what is ours."""
        return isinstance(self.election, SoleElection)

    def owns(self, key: ObjectKey) -> bool:
        """Whether we work on an object now."""
        return self.shares.owns(key)

    def answers(self, question: AuthorisedRequest) -> bool:
        """Whether we answer. A question that fixes no object is for each of several that share, else for the leader,
        and so is the report of a request that may wake something.
        """
        if is_report(question.asked):
            return self.leads()
        key = _asked_about(question)
        if key is None:
            return self.leads() or isinstance(self.membership, Membership)
        return self.shares.owns(key)

    def holder(self, question: AuthorisedRequest) -> Holder | None:
        """Which other replica to ask; None: it is for us to answer."""
        if is_report(question.asked):
            leader = self.election.holder
            return None if leader is None or leader.identity == self.election.identity else leader
        key = _asked_about(question)
        if key is None and isinstance(self.membership, Membership):
            return None
        return self.membership.holder_of(str(key or ""))

    def may_tell(self) -> bool:
        """Whether Events of ours may be sent: they are about what we did while we might."""
        return self.leads() or self.membership.is_live

    async def work(self, work: Work, address: str) -> None:
        """Campaign and work until cancelled; `address` is where this replica serves."""
        if isinstance(self.membership, WholeMembership):
            await self.election.run(partial(self._do_all, work), address)
            return
        await work.prepare()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work.follow())
            tasks.create_task(self.election.run(partial(_lead, work), address))
            tasks.create_task(self.membership.run(work.share, address))

    async def _do_all(self, work: Work) -> None:
        self.shares.review()
        try:
            await work.announce()
            await work.prepare()
            async with asyncio.TaskGroup() as tasks:
                for part in (work.follow, work.lead, work.share):
                    tasks.create_task(part())
        finally:
            # What is still under way belongs to a term that is over.
            self.shares.review()


async def _lead(work: Work) -> None:
    await work.announce()
    await work.lead()


def rights_of(client: KubeClient, lease: LeaseSpec, *, elects: bool) -> Rights:
    """The rights that the settings ask for; without an election this replica is the only one."""
    leading, shares = Election(client, lease) if elects else SoleElection(), Tenures()
    membership = Membership(client, lease, shares.is_quiet) if lease.shards else WholeMembership(leading)
    shares.follow(membership.owns, lambda: membership.is_live)
    if isinstance(membership, Membership):
        membership.subscribe(shares.review)
    leads_all = Tenures(is_live=lambda: leading.is_leader)
    return Rights(election=leading, membership=membership, shares=shares, leads_all=leads_all)


def _asked_about(question: AuthorisedRequest) -> ObjectKey | None:
    """The object that a question fixes, if it does."""
    kind = _KINDS.get(question.metric)
    if kind is not None and question.asked.wanted.name:
        return ObjectKey(kind, question.namespace, question.asked.wanted.name)
    name = question.selection.scaled_object
    return ObjectKey(SCALED_OBJECTS.kind, question.namespace, name) if name else None
