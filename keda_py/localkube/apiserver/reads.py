"""GET of one object and of lists: selectors, pages, versions.

A page token names the version and the last place of its page: the next page continues the list as it was then. A token
or version that has been dropped answers 410, and the client starts over. Watches are in `watches.py`.
"""

import base64
from dataclasses import dataclass
from itertools import islice

import orjson

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.apiserver.views import View
from keda_py.localkube.builtin.conversions import event_field
from keda_py.localkube.model.calls import ApiAnswer, Call, RequestTarget
from keda_py.localkube.model.selectors import FieldSelector, parse_labels
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError, bad_request, version_too_large

# Fields that selectors support besides name and namespace.
_EVENT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_POD_SPEC = ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork")
_SELECTABLE = {
    ("", "pods"): (*_POD_SPEC, "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
    ("", "events"): (*(f"involvedObject.{f}" for f in _EVENT), "reason", "reportingComponent", "source", "type"),
    ("", "secrets"): ("type",),
    ("", "namespaces"): ("status.phase",),
    ("", "nodes"): ("spec.unschedulable",),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSelection:
    """The selectors of a list or watch; None selects everything."""

    labels: LabelSelector | None
    fields: FieldSelector | None

    @classmethod
    def of(cls, call: Call, target: RequestTarget) -> "ListSelection":
        """Read the selectors; a name in the path counts as one. Raises StatusError 400 for a malformed one."""
        labels, fields = call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
        if target.name:
            fields = f"{fields},metadata.name={target.name}".lstrip(",")
        return cls(
            labels=parse_labels(labels) if labels.strip() else None,
            fields=_fields(target.resource, fields) if fields.strip() else None,
        )

    def selects(self, obj: Obj) -> bool:
        return all(selector is None or selector.matches(obj) for selector in (self.labels, self.fields))


def get(call: Call, target: RequestTarget, store: Store) -> ApiAnswer:
    """Answer one object."""
    obj = store.get(target.resource, target.namespace, target.name)
    return ApiAnswer(body=View.of(call, target.resource, store.clock).one(obj))


def list_objects(call: Call, target: RequestTarget, store: Store) -> ApiAnswer:
    """Answer a collection, whole or by pages."""
    selection = ListSelection.of(call, target)
    check_version(call, store)
    view = View.of(call, target.resource, store.clock)
    limit, token = call.number("limit"), call.query.get("continue", "")
    if call.query.get("resourceVersionMatch") == "Exact" and not token:
        page = _Page.of(limit, "", call.number("resourceVersion"))
        return ApiAnswer(body=_page(target, selection, store, view, page))
    if not limit and not token:
        objects = _select(target, selection, store)
        return ApiAnswer(body=view.many(objects, _list_metadata(target.resource, store.revision)))
    return ApiAnswer(body=_page(target, selection, store, view, _Page.of(limit, token, store.revision)))


def check_version(call: Call, store: Store) -> int:
    """The lowest version that a list may have. Raises StatusError 504 for one that does not exist yet."""
    wanted = call.number("resourceVersion")
    if wanted > store.revision:
        raise version_too_large(wanted, store.revision)
    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """A page request: at most `limit` objects (0: all) after `place`, as of `revision`."""

    limit: int
    revision: int
    place: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, limit: int, token: str, revision: int) -> "_Page":
        if not token:
            return cls(limit=limit, revision=revision)
        try:
            revision, namespace, name = orjson.loads(base64.urlsafe_b64decode(token))
        except ValueError as error:
            raise bad_request(f"invalid continue token: {error}") from None
        return cls(limit=limit, revision=revision, place=(namespace, name))

    def token_after(self, obj: Obj) -> str:
        place = [self.revision, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]]
        return base64.urlsafe_b64encode(orjson.dumps(place)).decode()


def _page(target: RequestTarget, selection: ListSelection, store: Store, view: View, page: _Page) -> Obj:
    snapshot = store.list_at(target.resource, target.namespace, page.revision)
    start = snapshot.index_after(page.place)
    selected = filter(selection.selects, islice(snapshot.objects, start, None))
    shown = list(islice(selected, page.limit or None))
    metadata = _list_metadata(target.resource, page.revision)
    # Whether a page follows is known only by finding one more object. A selector hides how many follow, so the real
    # server leaves out the count then.
    if next(selected, None) is not None:
        metadata["continue"] = page.token_after(shown[-1])
        if selection.labels is None and selection.fields is None:
            metadata["remainingItemCount"] = len(snapshot.objects) - start - page.limit
    return view.many(shown, metadata)


def _select(target: RequestTarget, selection: ListSelection, store: Store) -> list[Obj]:
    """Select objects, by a lookup if the selector fixes the name: operators list hundreds of Secrets by name."""
    resource, namespace = target.resource, target.namespace
    name = selection.fields.equal_to("metadata.name") if selection.fields else None
    if name and (namespace or not resource.namespaced):
        found = store.find(resource, namespace, name)
        return [found] if found is not None and selection.selects(found) else []
    return store.list(resource, namespace, labels=selection.labels, fields=selection.fields)


def _list_metadata(resource: Resource, revision: int) -> Obj:
    return {"continue": "", "resourceVersion": str(revision)} if resource.custom else {"resourceVersion": str(revision)}


def _fields(resource: Resource, text: str) -> FieldSelector:
    selector = FieldSelector.parse(text)
    if resource.storage == ("", "events"):
        selector = FieldSelector(tuple((event_field(path), value, equal) for path, value, equal in selector.terms))
    known = _SELECTABLE.get(resource.key, ())
    for path, _, _ in selector.terms:
        if path not in ("metadata.name", "metadata.namespace") and path not in known:
            raise _unknown_field(resource, path)
    return selector


def _unknown_field(resource: Resource, path: str) -> StatusError:
    if resource.custom or resource.key in _SELECTABLE:
        return bad_request(f"field label not supported: {path}")
    return bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')
