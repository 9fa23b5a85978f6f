"""Watches: on request a list first, then a line per event until the time-out.

Time-outs are I/O: they run on the loop's real time, whatever the cluster's clock does. A version that has been dropped
answers 200 and one ERROR event, as from a real server. `sendInitialEvents` ends the list with a marked bookmark.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import orjson

from keda_py.localkube.apiserver.reads import ListSelection, check_version
from keda_py.localkube.apiserver.views import View
from keda_py.localkube.model.calls import ApiAnswer, Call, RequestTarget
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import ADDED, Subscription
from keda_py.schema.resources import Obj
from keda_py.schema.status import Cause, StatusError, invalid

BOOKMARK_SECONDS = 60.0
DEFAULT_SECONDS = 1800
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A parsed watch request: `list_first` sends ADDED for all objects, `marked` ends those with a bookmark."""

    target: RequestTarget
    view: View
    selection: ListSelection
    since: int
    list_first: bool
    marked: bool
    bookmarks: bool
    seconds: int

    @classmethod
    def of(cls, call: Call, target: RequestTarget, store: Store) -> "Watch":
        """Read the parameters. Raises StatusError 400 or 422 for invalid ones."""
        marked = call.flag("sendInitialEvents")
        _check_initial_events(call, marked)
        since = call.number("resourceVersion")
        if marked:
            check_version(call, store)
        unset = call.query.get("resourceVersion", "") in ("", "0")
        return cls(
            target=target,
            view=View.of(call, target.resource, store.clock),
            selection=ListSelection.of(call, target),
            since=store.revision if unset or marked else since,
            list_first=marked or (unset and "sendInitialEvents" not in call.query),
            marked=marked,
            bookmarks=call.flag("allowWatchBookmarks"),
            seconds=call.number("timeoutSeconds") or DEFAULT_SECONDS,
        )


def open_watch(call: Call, target: RequestTarget, store: Store) -> ApiAnswer:
    """Open a stream of events that begins where the list ends."""
    watch = Watch.of(call, target, store)
    # List and subscription are taken in one step of the loop: an event between the two would be lost or sent twice.
    resource, selection = target.resource, watch.selection
    initial: list[Obj] = []
    if watch.list_first:
        initial = store.list(resource, target.namespace, labels=selection.labels, fields=selection.fields)
    try:
        subscription = store.watch(
            resource, target.namespace, since=watch.since, labels=selection.labels, fields=selection.fields
        )
    except StatusError as error:
        return ApiAnswer(stream=_refused(error))
    return ApiAnswer(stream=_lines(watch, initial, subscription, store))


async def _refused(error: StatusError) -> AsyncGenerator[bytes, None]:
    yield _line("ERROR", error.body())


async def _lines(
    watch: Watch, initial: list[Obj], subscription: Subscription, store: Store
) -> AsyncGenerator[bytes, None]:
    try:
        if initial:
            yield b"".join(_line(ADDED, watch.view.one(obj)) for obj in initial)
        if watch.marked:
            yield _bookmark(watch, store.revision, _INITIAL_END)
        async for line in _events(watch, subscription, store):
            yield line
    finally:
        await subscription.aclose()


async def _events(watch: Watch, subscription: Subscription, store: Store) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    end = loop.time() + watch.seconds
    pause = BOOKMARK_SECONDS
    while (left := end - loop.time()) > 0:
        try:
            async with asyncio.timeout(min(left, pause)):
                events = await subscription.take()
        except TimeoutError:
            # A bookmark promises all events up to its version: while one is queued, a client whose watch ends now would
            # resume after it and never see it.
            if watch.bookmarks and store.revision >= watch.since and not subscription.is_behind:
                yield _bookmark(watch, store.revision, {})
            continue
        if not events:
            return
        yield b"".join(_line(event.type, watch.view.one(event.shown)) for event in events)


def _bookmark(watch: Watch, revision: int, annotations: Obj) -> bytes:
    metadata = {"resourceVersion": str(revision)} | ({"annotations": annotations} if annotations else {})
    resource = watch.target.resource
    obj: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return _line("BOOKMARK", watch.view.many([], metadata) if watch.view.form == "as=Table" else obj)


def _line(type_: str, obj: Obj) -> bytes:
    return orjson.dumps({"type": type_, "object": obj}) + b"\n"


def _check_initial_events(call: Call, marked: bool) -> None:
    match = call.query.get("resourceVersionMatch", "")
    causes = []
    if "sendInitialEvents" in call.query and match != "NotOlderThan":
        message = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(Cause(reason="FieldValueForbidden", message=message, field="resourceVersionMatch"))
    if "sendInitialEvents" not in call.query and match:
        message = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(Cause(reason="FieldValueForbidden", message=message, field="resourceVersionMatch"))
    if marked and not call.flag("allowWatchBookmarks"):
        message = "Forbidden: sendInitialEvents requires allowWatchBookmarks to be true"
        causes.append(Cause(reason="FieldValueForbidden", message=message, field="sendInitialEvents"))
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)
