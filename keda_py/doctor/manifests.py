"""Manifests in Git, as the traces of the last apply show them: does the manifest of a member set its count?

Server-side apply leaves an entry of its field manager, client-side apply the whole manifest in an annotation. A later
write of another manager takes the field out of the applier's entry, so that its absence proves nothing from then on.
"""

from collections.abc import Sequence
from enum import StrEnum

import orjson

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.doctor.members import Member
from keda_py.kube.resources import Obj

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class AppliedCount(StrEnum):
    """Count of a member in the manifest that was applied last."""

    SET = "set"
    OMITTED = "omitted"
    OVERWRITTEN = "overwritten"
    """The applier's entry lacks it, but another manager has written it since."""
    NO_TRACE = "no trace"

    @property
    def why(self) -> str:
        """Return why it is not known, for a sentence."""
        overwritten = self is AppliedCount.OVERWRITTEN
        return "which cannot be seen since the count was written last" if overwritten else "of which there is no trace"


def applied_count(member: Member, managers: Sequence[str]) -> AppliedCount:
    """Return what the traces of these appliers say."""
    entries = [one for one in maps_at(member.live, "metadata", "managedFields") if not text_at(one, "subresource")]
    applied = [one for one in entries if text_at(one, "manager") in managers]
    if any(_has(entry, member) for entry in applied):
        return AppliedCount.SET
    applied = [entry for entry in applied if text_at(entry, "operation") == "Apply"]
    if applied:
        return _absent(member, max(text_at(entry, "time") for entry in applied), managers)
    written = texts_at(member.live, "metadata", "annotations").get(LAST_APPLIED)
    return AppliedCount.NO_TRACE if written is None else _read_annotation(written, member)


def _absent(member: Member, applied_at: str, managers: Sequence[str]) -> AppliedCount:
    """Judge the missing field: RFC 3339 times of the API server are all in UTC and compare as texts."""
    others = [
        text_at(entry, "time")
        for entry in maps_at(member.live, "metadata", "managedFields")
        if text_at(entry, "manager") not in managers and _has(entry, member)
    ]
    return AppliedCount.OVERWRITTEN if others and max(others) >= applied_at else AppliedCount.OMITTED


def _has(entry: Obj, member: Member) -> bool:
    return f"f:{member.field}" in map_at(entry, "fieldsV1", "f:spec")


def _read_annotation(written: str, member: Member) -> AppliedCount:
    try:
        found = member.field in map_at(orjson.loads(written), "spec")
    except orjson.JSONDecodeError:
        return AppliedCount.NO_TRACE
    return AppliedCount.SET if found else AppliedCount.OMITTED
