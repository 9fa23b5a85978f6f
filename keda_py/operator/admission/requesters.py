"""`status.requestedBy` of Overrides: the user of the review that admitted each, written once the Override is seen.

Only a review before the object's creation counts, and only the first: no other client knows the uid before the object
is stored, so that a review that another client makes up cannot sign with another user's name. An Override without a
review has no author.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass

from keda_py.apis.foreign import text_at
from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import OVERRIDES, Obj
from keda_py.kube.status import patch_status

WAIT_SECONDS = 60.0
MOST_WAITING, MOST_QUEUED, MOST_SIGNED = 1_000, 1_000, 10_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The user who creates an Override; `uid` is "" if the review had none."""

    namespace: str
    name: str
    uid: str
    user: str


class Requesters:
    """Waits for admitted Overrides to appear, and writes their authors while `run` runs."""

    def __init__(self, client: KubeClient, overrides: Informer) -> None:
        self._client, self._overrides = client, overrides
        self._waiting: OrderedDict[tuple[str, str, str], tuple[float, str]] = OrderedDict()
        self._signed: OrderedDict[str, None] = OrderedDict()
        self._found: asyncio.Queue[tuple[Obj, str]] = asyncio.Queue(MOST_QUEUED)
        overrides.subscribe(self._on_change)

    def expect(self, request: Requester) -> None:
        """Remember the user of an admitted review; the Override may be cached already if the review had its uid."""
        live = self._overrides.get(request.namespace, request.name)
        if live is not None and live["metadata"]["uid"] == request.uid:
            self._note(live, request.user)
            return
        key = request.namespace, request.name, request.uid
        self._waiting.setdefault(key, (asyncio.get_running_loop().time() + WAIT_SECONDS, request.user))
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popitem(last=False)

    def _on_change(self, old: Obj | None, new: Obj | None) -> None:
        if old is not None or new is None or not self._waiting:
            return
        meta = new["metadata"]
        # A review with a uid is about exactly this object; one without is matched by name.
        for uid in (meta["uid"], ""):
            until, user = self._waiting.pop((meta["namespace"], meta["name"], uid), (0.0, ""))
            if user and asyncio.get_running_loop().time() < until:
                self._note(new, user)
                return

    def _note(self, live: Obj, user: str) -> None:
        """Queue the author to be written, unless there is one: the creator may know the uid before our watch shows the
        author, so only the first review signs.
        """
        uid = live["metadata"]["uid"]
        if text_at(live, "status", "requestedBy") or uid in self._signed or self._found.full():
            return
        self._signed[uid] = None
        if len(self._signed) > MOST_SIGNED:
            self._signed.popitem(last=False)
        self._found.put_nowait((live, user))

    async def run(self) -> None:
        """Write authors until cancelled; an Override that cannot be written has no author."""
        while True:
            live, user = await self._found.get()
            changed = {**(live.get("status") or {}), "requestedBy": user}
            try:
                await patch_status(self._client, OVERRIDES, live, changed)
            except KubeError as error:
                fields = {"namespace": live["metadata"]["namespace"], "override": live["metadata"]["name"]}
                log.warning("author of an override was not recorded", extra=fields | {"error": str(error)})
