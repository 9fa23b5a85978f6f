"""An admission review, from its bytes to its verdict: cheap refusals first, then the kind's checks (`judges.py`).

A body is bounded in bytes before it comes here (`server.py`), in lists and maps before it is parsed, in everything else
before models are made of it (`extent.py`).
"""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import orjson

from keda_py.apis.admission_review import AdmissionRequest, AdmissionReview
from keda_py.apis.foreign import Obj, map_at
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.codes import MEANING, ignored_codes, without_ignored
from keda_py.core.admission.findings import AdmissionWarning, Denial
from keda_py.errors import ConfigError
from keda_py.operator.admission.webhook.extent import check_extent, judged_parts
from keda_py.operator.admission.webhook.judges import MOST_FINDINGS, OVERRIDE, SCALED_OBJECT, Judges

MOST_CONTAINERS = 400_000
"""Lists and maps in a body: an object as it is and as it was, 1.5 MiB each, have fewer."""
MOST_WARNINGS = 20
"""Told of an object."""
LONGEST_MESSAGE, LONGEST_WARNING = 4096, 1024
"""Characters; an API server shows less."""


class Malformed(Exception):
    """No AdmissionReview; the text is for its sender, and repeats nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionResult:
    """The answer, and what is counted and told of it."""

    response: Obj
    judged: bool = False
    denied: str = ""
    """Denial.reason."""
    notes: tuple[str, ...] = ()
    """Warnings that an Event repeats."""
    author: str = ""
    """Who creates this Override."""


def read_review(body: bytes) -> AdmissionRequest:
    """The question in a body. Raises Malformed."""
    if body.count(b"[") + body.count(b"{") > MOST_CONTAINERS:
        raise Malformed(f"more than {MOST_CONTAINERS} lists and maps")
    collects = gc.isenabled()
    gc.disable()  # what is parsed has no cycles, but each 700 new containers would be looked through for some
    try:
        return parse_object(AdmissionReview, _json_object(body)).request
    except ConfigError as error:
        raise Malformed(str(error)) from None
    finally:
        if collects:
            gc.enable()


def _json_object(body: bytes) -> Obj:
    try:
        review = orjson.loads(body)
    except ValueError:
        raise Malformed("not JSON") from None
    if not isinstance(review, dict):
        raise Malformed("not a JSON object")
    return review


class Reviewer:
    """Judges reviews. `kinds` has the kind that is judged at each path; `namespaces` are those that this operator
    watches, all for none.
    """

    def __init__(self, judges: Judges, kinds: Mapping[str, str], namespaces: Sequence[str] = ()) -> None:
        self._judges, self.kinds, self._namespaces = judges, kinds, frozenset(namespaces)

    async def review(self, path: str, request: AdmissionRequest) -> AdmissionResult:
        """The verdict at one of our paths. Raises what `around` raises."""
        is_ours = not (request.namespace and self._namespaces) or request.namespace in self._namespaces
        if request.new is None or not is_ours or _only_sheds_finalizers(request):
            return AdmissionResult(response=_response(request.uid))
        kind = self.kinds[path]
        denial, warnings = await self._judge(kind, request.new, request)
        judged = kind == SCALED_OBJECT
        if denial is not None:
            return AdmissionResult(response=_response(request.uid, denial=denial), judged=judged, denied=denial.reason)
        sentences = () if request.dry_run else tuple(warning.message for warning in warnings if warning.recorded)
        created = kind == OVERRIDE and request.operation == "CREATE" and not request.dry_run
        author = request.user_info.username if created else ""
        lines = [_one_line(_labelled(warning))[:LONGEST_WARNING] for warning in warnings]
        return AdmissionResult(
            response=_response(request.uid, warnings=lines), judged=judged, notes=sentences, author=author
        )

    async def _judge(
        self, kind: str, obj: Obj, request: AdmissionRequest
    ) -> tuple[Denial | None, list[AdmissionWarning]]:
        """Up to the first denial, or so many warnings; the checks work only as far as they are asked."""
        warnings: list[AdmissionWarning] = []
        parts = judged_parts(obj)
        if (too_large := check_extent(parts)) is not None:
            return too_large, warnings
        try:
            ignored = ignored_codes(map_at(parts, "metadata", "annotations"))
            found = islice(await self._judges.of(kind)(parts, request), MOST_FINDINGS)
            for finding in without_ignored(found, ignored):
                if isinstance(finding, Denial):
                    return finding, warnings
                warnings.append(finding)
                if len(warnings) >= MOST_WARNINGS:
                    break
        except ConfigError as error:
            return Denial(message=str(error), reason="invalid-object", field=error.field), warnings
        return None, warnings


def _only_sheds_finalizers(request: AdmissionRequest) -> bool:
    """Deletion must go on, whatever the object says."""
    new, old = request.new or {}, request.old or {}
    if _finalizers(new) >= _finalizers(old):
        return False
    try:
        return bool(new.get("spec") == old.get("spec"))
    except RecursionError:  # nested deeper than any schema lets in
        return False


def _finalizers(obj: Obj) -> int:
    found = map_at(obj, "metadata").get("finalizers")
    return len(found) if isinstance(found, list) else 0


def _labelled(warning: AdmissionWarning) -> str:
    """With the code that switches it off, where it fits; KEDA's own warnings stay word for word."""
    if warning.code not in MEANING:
        return warning.message
    label = f" [{warning.code}]"
    return warning.message[: LONGEST_WARNING - len(label)] + label


def _one_line(text: str) -> str:
    """A warning travels in a header; keys that users wrote may hold anything."""
    return "".join(one if one.isprintable() else " " for one in text)


def _response(uid: str, *, denial: Denial | None = None, warnings: Sequence[str] = ()) -> Obj:
    response: Obj = {"uid": uid, "allowed": denial is None}
    if denial is not None:
        message = denial.message[:LONGEST_MESSAGE]
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": message}
    if warnings:
        response["warnings"] = list(warnings)
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
