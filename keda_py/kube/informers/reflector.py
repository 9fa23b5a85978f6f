"""Reflector: keeps a `Cache` of one namespace, or of the whole cluster, up to date: list, watch, resume, relist.

Driven by `informer.py`. The life of a reflector:

    list (resourceVersion=0: the state that the API server has in memory)
      -> watch from that version, with bookmarks
           closed, broken          -> watch again from the last version seen
           410, an ERROR event,
           or no bookmark in time  -> list again, not older than the last version seen
                                      (410 or 504 for that one -> list the newest)

Rules: every round that fails or ends at once waits, longer each time; a version is remembered only after its event was
applied; HTTP status and content of a watch are both checked.
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from keda_py.errors import Gone, KubeError, TooManyRequests, Unavailable
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import PAGE_SIZE, RETRY_AFTER_CAP, KubeClient
from keda_py.kube.informers.cache import Cache, key_of
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.response_checks import check_object, items_of, version_of
from keda_py.kube.refusals import error_from_status
from keda_py.kube.resources import Obj
from keda_py.kube.transport import Request, keep_alive

log = logging.getLogger(__name__)

WATCH_SECONDS = 290.0
WATCH_JITTER = 20.0
QUIET_MARGIN = 30.0
# Bookmarks come every 60 s, give or take a quarter. A server that was restored from a backup sends none, and no event
# either, on a watch from a version that it has not reached yet.
BOOKMARK_SECONDS = 90.0
# Restoring a server restarts it, which ends watches early. If the next watch is silent for this long, a list checks
# whether the server has gone back in time.
DOUBT_SECONDS = 3.0
EARLY_SECONDS = 10.0
# A stream of this age has worked: servers close watches every few minutes, never every few seconds.
GOOD_STREAM_SECONDS = 2.0

ANY_VERSION, NEWEST = "0", ""
LINE_LIMIT = 32 * 2**20  # bytes; the largest object that etcd stores is 1.5 MiB
# 400: the server does not know such a version (it started anew); 404: the resource went away and may come back empty;
# 504: it has not seen that version yet.
LIST_AGAIN = frozenset({400, 404, 410, 504})


class LineSplitter:
    """Buffer that takes chunks and returns whole lines; an unfinished line at the end of a stream is discarded.

    aiohttp's own line reader fails above its buffer's size, which a ConfigMap of etcd's largest size exceeds.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that `chunk` completes. Raises Unavailable for a line over LINE_LIMIT bytes."""
        head, *rest = chunk.split(b"\n")
        self._hold(head)
        for piece in rest:
            line = b"".join(self._pieces)
            self._pieces, self._length = [], 0
            self._hold(piece)
            if line:
                yield line

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > LINE_LIMIT:
            raise Unavailable(f"a line of the watch is over {LINE_LIMIT} bytes")
        self._pieces.append(piece)


@dataclass(slots=True, kw_only=True)
class Reflector:
    """One list-and-watch. `error` is the last failure, None while it works; times are the loop's."""

    client: KubeClient
    spec: InformerSpec
    namespace: str
    cache: Cache
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    failed: asyncio.Event = field(default_factory=asyncio.Event)
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    error: KubeError | None = None
    last_contact: float = 0.0
    down_since: float | None = float("-inf")
    bookmarked: bool = False
    _doubtful: bool = False
    """Whether the last watch ended early and nothing has arrived since."""
    _list_from: str | None = ANY_VERSION
    _version: str = ""
    _backoff: Backoff = field(default_factory=Backoff)

    async def run(self) -> None:
        """List and watch until cancelled."""
        self.down_since = self.last_contact = _now()
        while True:
            try:
                if self._list_from is not None:
                    await self._list(self._list_from)
                await self._watch()
                pause = 0.0
            except KubeError as error:
                self._fail(error)
                pause = min(error.retry_after, RETRY_AFTER_CAP) if isinstance(error, TooManyRequests) else 0.0
            await asyncio.sleep(max(self._backoff.next(), pause))

    def down_for(self) -> float:
        """Return the seconds since the watch was last known to work; 0.0 while it does.

        A server that sends bookmarks does so every minute: if they stop, an open connection proves nothing.
        """
        if self.down_since is not None:
            return _now() - self.down_since
        silent = _now() - self.last_contact
        return silent if self.bookmarked and silent > BOOKMARK_SECONDS else 0.0

    async def _list(self, oldest: str) -> None:
        query = {"limit": str(PAGE_SIZE), **self.spec.selection.query()}
        start = {"resourceVersion": oldest} if oldest else {}
        if oldest not in (NEWEST, ANY_VERSION):
            start["resourceVersionMatch"] = "NotOlderThan"
        objects: list[Obj] = []
        while True:
            answer = await self.client.list_page(self.spec.resource, self.namespace, {**query, **start})
            # Trimmed page by page, so that a list of thousands of objects takes the memory of one page beside the
            # cache.
            objects.extend(filter(None, map(self.spec.ingest, items_of(answer, self.spec.resource))))
            version = version_of(answer)
            if not (page := answer["metadata"].get("continue")):
                break
            start = {"continue": page}
        is_restored = self._note_restore(version)
        self._version, self._doubtful = version, False
        with self.client.clock.busy():
            if is_restored:
                self.cache.note_restore()
            self.cache.replace(self.namespace, objects)
        self._list_from = None
        self.down_since = self.last_contact = _now()
        # Set only after the cache is complete: a reader that waits for `synced` takes an absent object for a deleted
        # one.
        self.synced.set()
        self.tried.set()

    async def _watch(self) -> None:
        """Apply events until the server ends the stream. Raises KubeError for any other end."""
        # The jitter spreads the reconnects of many informers, which all start together with the process.
        seconds = round(WATCH_SECONDS + random.uniform(-WATCH_JITTER, WATCH_JITTER))
        request = Request(
            method="GET",
            path=self.spec.resource.collection(self.namespace),
            query={
                "watch": "true",
                "allowWatchBookmarks": "true",
                "resourceVersion": self._version,
                "timeoutSeconds": str(seconds),
                **self.spec.selection.query(),
            },
            resource=self.spec.resource.plural,
        )
        async with self.client.stream(request, seconds + QUIET_MARGIN) as response:
            keep_alive(response)
            self.last_contact = began = _now()
            proven = asyncio.get_running_loop().call_later(GOOD_STREAM_SECONDS, self._recover)
            try:
                await self._follow_while_heard(response)
            finally:
                proven.cancel()
                self._doubtful = _now() < began + seconds - EARLY_SECONDS
                self.down_since = self.down_since if self.down_since is not None else _now()

    async def _follow_while_heard(self, response: aiohttp.ClientResponse) -> None:
        """Follow the stream; relist if bookmarks are overdue, because only a list tells whether it still works."""
        lines = LineSplitter()
        while True:
            try:
                async with asyncio.timeout(DOUBT_SECONDS if self._doubtful else BOOKMARK_SECONDS) as patience:
                    await self._follow(response, patience, lines)
                    return
            except TimeoutError:
                if not self._doubtful:
                    log.debug("watch idle, relisting", extra={"resource": self.spec.resource.plural})
                    self._list_from = self._version
                    self.down_since = self.last_contact if self.bookmarked else None
                    return
            with suppress(KubeError):  # after a failed list the next silence asks again
                if await self._is_ahead():
                    self._list_from = NEWEST
                    return
                self._doubtful = False

    async def _is_ahead(self) -> bool:
        """Return whether our version is later than the server's newest: the watch would stay silent until it is
        reached.

        A list of one object returns the version; a full list for each interrupted watch would be too expensive.
        """
        query = {"limit": "1", **self.spec.selection.query()}
        async with self.client.one_by_one:
            answer = await self.client.list_page(self.spec.resource, self.namespace, query)
        return _is_before(version_of(answer), self._version)

    async def _follow(self, response: aiohttp.ClientResponse, patience: asyncio.Timeout, lines: LineSplitter) -> None:
        async for chunk in response.content.iter_any():
            self.last_contact, line, self._doubtful = _now(), b"", False
            with self.client.clock.busy():
                for line in lines.feed(chunk):
                    self._apply(_parse(line))
            patience.reschedule(_now() + BOOKMARK_SECONDS)
            del chunk, line  # after a burst these are long, and the next chunk may be a minute away

    def _apply(self, event: dict[str, Any]) -> None:
        obj = event["object"]
        if event["type"] != "ERROR" and _is_before(version_of(obj), self._version):
            # One of several API servers may be behind, or etcd was restored: an old state that is applied would undo a
            # newer one, so that everything is listed anew.
            self._list_from = NEWEST
            raise Gone("the watch sent an older version than before", status=410)
        match event["type"]:
            case "ADDED" | "MODIFIED":
                self._put(obj)
            case "DELETED":
                self.cache.remove(key_of(check_object(obj, self.spec.resource)))
            case "BOOKMARK":
                self.bookmarked = True
            case "ERROR":
                # Whatever its code: only a list returns the current version.
                raise Gone(str(error_from_status(obj)), status=410, reason=str(obj.get("reason", "")))
        self._version = version_of(obj)
        if self.down_since is not None:
            self._recover()

    def _put(self, obj: Obj) -> None:
        kept = self.spec.ingest(check_object(obj, self.spec.resource))
        if kept is None:
            self.cache.remove(key_of(obj))
        else:
            self.cache.put(kept)

    def _note_restore(self, listed: str) -> bool:
        if not _is_before(listed, self._version):
            return False
        fields = {"resource": self.spec.resource.plural, "version": listed, "known": self._version}
        log.warning("the cluster went back in time, as after a restore from a backup", extra=fields)
        return True

    def _fail(self, error: KubeError) -> None:
        if error.status in LIST_AGAIN:
            # First not older than what we know, because the API server answers that from memory; only if it refuses
            # that version too, the newest, which may cost a read of etcd.
            self._list_from = self._version if self._list_from is None else NEWEST
        if isinstance(error, Gone):
            log.info("resource version expired, relisting", extra=self._extra(error))
            return
        log.log(logging.DEBUG if self.error else logging.WARNING, "watch failing", extra=self._extra(error))
        self.error = error
        self.failed.set()
        self.tried.set()

    def _recover(self) -> None:
        self._backoff.reset()
        self.down_since = None
        if self.error is not None:
            log.warning("watch works again", extra=self._extra(self.error))
            self.error = None
            self.failed.clear()

    def _extra(self, error: KubeError) -> dict[str, str]:
        return {"resource": self.spec.resource.plural, "namespace": self.namespace, "error": str(error)}


def _is_before(version: str, known: str) -> bool:
    return version.isdecimal() and known.isdecimal() and int(version) < int(known)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _parse(line: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unavailable("a line of the watch is not JSON") from error
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict) or "type" not in event:
        raise Unavailable("a line of the watch is not an event")
    return event
