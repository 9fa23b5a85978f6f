"""A replica's share of all objects: which keys it may write while several replicas are active.

Each active replica holds one of a fixed number of slots (`kube/leases/membership.py`) and publishes in its slot's Lease
the view that it acts on: which slots are held. Rendezvous hashing over a view tells to which slot a key belongs. Three
rules keep two replicas from owning one key at once, also where some are slow, die or come back:

1. A replica gives up what a new view gives to others before it publishes that view.
2. It takes what a view gives to it once all slots of that view have published exactly that view, and all other slots
   are vacant; each of them read after its own publication is known to be stored.
3. A slot becomes vacant only by a write that names its version: its holder's own, or once its Lease has run out.

Why that is enough: let A take a key by view V, having seen B at V or vacant. For B to take it, B must publish another
view W later on and then see A at W; but A publishes W only after it has given up what W gives to B. All replicas that
are active at a time must know of the same slots, or one would take what another keeps unseen: the main Lease sees to
that (`kube/leases/lease_record.py`). What every view since the last agreed one gives to a replica it keeps all the
while, so that a change pauses nothing but what moves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Self

View = frozenset[int]
"""Numbers of the slots that are held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot as read: `holder` "" is vacant, `view` is empty until its holder has published one."""

    holder: str = ""
    view: View = frozenset()
    address: str = ""


def owner_of(key: str, view: View) -> int | None:
    """Return the slot that a view assigns a key to, None if empty. A change of slots moves only their own keys.

    It takes 3 us for four slots, and nothing is kept: the weights of 16 000 keys took 14 MB, and where 50 000 keys are
    gone through in turn, none would be found again.
    """
    tail = f"/{key}".encode()
    return max(view, key=lambda slot: (_weight(slot, tail), slot), default=None)


def _weight(slot: int, tail: bytes) -> bytes:
    return blake2b(b"%d" % slot + tail, digest_size=8).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The ownership of the holder of slot `me`. `epoch` counts its views.

    `views` are those since the last agreed one, which is the first if `agreed`; `published`: the last one is known to
    be stored.
    """

    me: int
    epoch: int = 0
    views: tuple[View, ...] = ()
    agreed: bool = False
    published: bool = False

    @property
    def view(self) -> View:
        """The latest view, which this replica acts on."""
        return self.views[-1] if self.views else frozenset()

    @property
    def is_settled(self) -> bool:
        """Whether all others act on the same view, as far as we know."""
        return self.agreed and len(self.views) == 1

    def owns(self, key: str) -> bool:
        """Whether this replica may write the object of that key."""
        # Rule 1: what any view since the agreed one gives to others is given up at once, before that view is published.
        return self.agreed and all(owner_of(key, view) == self.me for view in self.views)

    def after(self, slots: Mapping[int, Slot]) -> Self:
        """Return the next share, given all slots as read after the last change here; our slot is held by us."""
        view = frozenset(number for number, slot in slots.items() if slot.holder)
        if view != self.view:
            # The agreed view stays the first until a newer one is agreed on: what it and all later views give to us is
            # ours meanwhile.
            before = tuple(one for one in self.views[1:] if one != view)
            views = (*self.views[:1], *before, view) if self.agreed else (view,)
            return replace(self, epoch=self.epoch + 1, views=views, published=False)
        if self.is_settled or not self.published:
            return self
        others = (slots[number] for number in view if number != self.me)
        return replace(self, views=(view,), agreed=True) if all(other.view == view for other in others) else self

    def confirmed(self, view: View) -> Self:
        """Return the share once our Lease is known to contain `view`."""
        return replace(self, published=True) if view == self.view and not self.published else self
