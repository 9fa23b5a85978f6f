"""What this replica may write and answer, and which other one to ask: by the Lease alone, or by shares.

`assembly.py` makes the one of a process; everything that has to know who leads, or whose an object is, asks it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from keda_py.core.values.object_key import ObjectKey
from keda_py.external_metrics.question import Question
from keda_py.kube.client import KubeClient
from keda_py.kube.leases.lease import Election
from keda_py.kube.leases.lease_record import Holder, LeaseSpec
from keda_py.kube.leases.membership import Membership
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.sharding.tenures import Tenures

_KINDS = {resource.plural: resource.kind for resource in (SCALED_OBJECTS, SCALED_JOBS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Several replicas are active: the slot that is ours, and the tenures of our objects."""

    membership: Membership
    tenures: Tenures


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """`election` is None where this is the only replica, `sharing` where one is active at a time."""

    election: Election | None
    sharing: Sharing | None = None

    def leads(self) -> bool:
        """Whether what is done once for the cluster is ours to do now."""
        return self.election is None or self.election.is_leader

    def owns(self, key: ObjectKey) -> bool:
        """Whether we work on an object now."""
        return self.leads() if self.sharing is None else self.sharing.tenures.owns(key)

    def answers(self, question: Question) -> bool:
        """Whether what is asked is ours to know."""
        if self.sharing is None:
            return self.leads()
        key = _asked_about(question)
        return key is None or self.sharing.tenures.owns(key)

    def holder(self, question: Question) -> Holder | None:
        """Which other replica knows; None: it is for us to answer."""
        if self.sharing is not None:
            key = _asked_about(question)
            return self.sharing.membership.holder_of(str(key)) if key is not None else None
        holder = self.election.holder if self.election is not None else None
        return None if self.election is None or holder is None or holder.identity == self.election.identity else holder

    def may_write(self) -> bool:
        """Whether the write at hand may be sent, as it is sent."""
        return self.leads() if self.sharing is None else self.sharing.tenures.may_write(self.leads())

    def may_tell(self) -> bool:
        """Whether Events of ours may be sent: they are about what we did while we might."""
        return self.leads() or (self.sharing is not None and self.sharing.membership.is_live)

    @property
    def sending(self) -> Callable[[], AbstractContextManager[None]]:
        """To be entered while a write is under way."""
        return nullcontext if self.sharing is None else self.sharing.tenures.sending


def share_out(client: KubeClient, lease: LeaseSpec) -> Sharing | None:
    """As the Lease's settings say; None: one replica is active at a time."""
    if not lease.shards:
        return None
    tenures = Tenures()
    membership = Membership(client, lease, tenures.is_quiet)
    tenures.follow(membership.owns, lambda: membership.is_live)
    membership.subscribe(tenures.review)
    return Sharing(membership=membership, tenures=tenures)


def _asked_about(question: Question) -> ObjectKey | None:
    """The object that a question fixes, if it does."""
    kind = _KINDS.get(question.metric)
    if kind is not None and question.asked.wanted.name:
        return ObjectKey(kind, question.namespace, question.asked.wanted.name)
    name = question.selection.scaled_object
    return ObjectKey(SCALED_OBJECTS.kind, question.namespace, name) if name else None
