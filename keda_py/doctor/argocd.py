"""Argo CD Applications that put the counts of members back: `selfHeal` at once, and each sync without it.

In: Applications and members. Out: diagnoses with the `ignoreDifferences` to add. Two settings are needed, as Argo CD
has it: an ignored difference starts no self-heal, and with RespectIgnoreDifferences a sync does not write it either.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import re2

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, text_at, texts_at, value_at
from keda_py.core.environment.decision.observation import OUR_MANAGER
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.manifests import AppliedCount, applied_count
from keda_py.doctor.members import Key, Member, by_key
from keda_py.kube.resources import CRON_JOBS, Obj
from keda_py.migration.installation import Installation

APPLICATIONS = "applications.argoproj.io"
KIND = "Application"
RESPECT = "RespectIgnoreDifferences=true"
MANAGERS = ("argocd-controller", "argocd-application-controller")
"""Field managers of Argo CD's server-side apply."""
HPA_MANAGER = "kube-controller-manager"
"""Manager of counts that an HPA wrote."""
_HERE = ("https://kubernetes.default.svc", "in-cluster", "")
_TRACKING = "argocd.argoproj.io/tracking-id"
_PATH = re2.compile(r"""(\.?(\[("[^"]*"|'[^']*')\]|[A-Za-z_][A-Za-z0-9_]*)\??)+""")
_STEP = re2.compile(r"""\["([^"]*)"\]|\['([^']*)'\]|([A-Za-z_][A-Za-z0-9_]*)""")
_LONGEST = 1000


def check_applications(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check each Application that syncs by itself, and members whose Application is in another cluster."""
    known = by_key(members)
    applications = installation.objects.get(KIND, ())
    for application in applications:
        yield from _check_application(application, list(_managed(application, known)))
    if KIND not in installation.unread:
        yield from _check_elsewhere({name_of(one) for one in applications}, members)


def _managed(application: Obj, known: Mapping[Key, Member]) -> Iterator[Member]:
    """Yield the members among the resources of an Application of this cluster."""
    destination = map_at(application, "spec", "destination")
    if text_at(destination, "server") not in _HERE or text_at(destination, "name") not in _HERE:
        return
    for resource in sorted(maps_at(application, "status", "resources"), key=_place):
        member = known.get(_place(resource))
        if member is not None and member.group == text_at(resource, "group"):
            yield member


def _place(resource: Obj) -> tuple[str, str, str]:
    return text_at(resource, "kind"), text_at(resource, "namespace"), text_at(resource, "name")


def _check_application(application: Obj, managed: Sequence[Member]) -> Iterator[Diagnosis]:
    automated = value_at(application, "spec", "syncPolicy", "automated")
    if not isinstance(automated, dict) or automated.get("enabled") is False:
        return
    counts = {member.key: applied_count(member, MANAGERS) for member in managed}
    members = [member for member in managed if counts[member.key] is not AppliedCount.OMITTED]
    covered = {member.key: ignores(application, member) for member in members}
    unsure = [member for member in members if covered[member.key] is None]
    ignored = [member for member in members if covered[member.key]]
    for count in AppliedCount:
        shown = [one for one in members if covered[one.key] is False and counts[one.key] is count]
        if shown:
            yield _not_ignored(application, shown, count, heals=automated.get("selfHeal") is True)
    if ignored and not _respects(application):
        message = f"the difference is ignored, but each sync still writes the count: syncOptions lack {RESPECT}"
        yield diagnose(application, message, ignored, lines=_respecting(application))
    if unsure:
        message = "a jqPathExpression of ignoreDifferences is more than a path: whether it ignores the count is unknown"
        lines = ignoring_lines(application, unsure)
        yield diagnose(application, message, unsure, urgency=Urgency.UNKNOWN, lines=lines)


def _not_ignored(application: Obj, members: Sequence[Member], count: AppliedCount, *, heals: bool) -> Diagnosis:
    how = "selfHeal puts the count back at once" if heals else "each automated sync puts the count back"
    urgency = Urgency.FIGHTS if heals else Urgency.NOTE
    if count is not AppliedCount.SET:
        how = f"{how} if Git's manifest sets one, {count.why}"
        urgency = Urgency.UNKNOWN if count is AppliedCount.NO_TRACE and heals else Urgency.NOTE
    remedy = "or leave the count out of the manifest in Git"
    lines = ignoring_lines(application, members)
    return diagnose(application, how, members, urgency=urgency, lines=lines, remedy=remedy)


def ignores(application: Obj, member: Member) -> bool | None:
    """Whether `ignoreDifferences` covers the count of a member; None if an expression would have to be run."""
    answers = [
        _covers(entry, member)
        for entry in maps_at(application, "spec", "ignoreDifferences")
        if entry_matches(entry, member)
    ]
    return True if True in answers else None if None in answers else False


def entry_matches(entry: Obj, member: Member) -> bool:
    """Whether an entry is about the member; group and kind may be patterns, as in Argo CD."""
    name, namespace = text_at(entry, "name"), text_at(entry, "namespace")
    return (
        fnmatchcase(member.group, text_at(entry, "group"))
        and fnmatchcase(member.kind, text_at(entry, "kind"))
        and name in ("", member.name)
        and namespace in ("", member.namespace)
    )


def _covers(entry: Obj, member: Member) -> bool | None:
    pointers = [one for one in list_at(entry, "jsonPointers") if isinstance(one, str)]
    if any(pointer in ("/spec", member.pointer) for pointer in pointers):
        return True
    if _writers(member) <= {one for one in list_at(entry, "managedFieldsManagers") if isinstance(one, str)}:
        return True
    paths = [read_path(one) for one in list_at(entry, "jqPathExpressions") if isinstance(one, str)]
    if any(path in (("spec",), ("spec", member.field)) for path in paths):
        return True
    return None if None in paths else False


def _writers(member: Member) -> set[str]:
    """Return the managers under which the count is written: ours, and the HPA's above 1."""
    return {OUR_MANAGER, HPA_MANAGER} if member.scaled_object and member.kind != CRON_JOBS.kind else {OUR_MANAGER}


def read_path(expression: str) -> tuple[str, ...] | None:
    """Read a jq expression that is a plain path, such as `.spec.replicas`; None for all others."""
    text = expression.strip()
    if len(text) > _LONGEST or not text.startswith(".") or not _PATH.fullmatch(text):
        return None
    return tuple("".join(part or "" for part in step.groups()) for step in _STEP.finditer(text))


def ignoring_lines(application: Obj, members: Sequence[Member]) -> Any:
    """Write the entries to add, and the sync option where it is missing."""
    entries = [
        {
            "group": member.group,
            "kind": member.kind,
            "name": member.name,
            "namespace": member.namespace,
            "jsonPointers": [member.pointer],
        }
        for member in members
    ]
    lines: dict[str, Any] = {"spec": {"ignoreDifferences": entries}}
    if not _respects(application):
        lines["spec"] |= _respecting(application)["spec"]
    return lines


def _respects(application: Obj) -> bool:
    return RESPECT in list_at(application, "spec", "syncPolicy", "syncOptions")


def _respecting(application: Obj) -> Any:
    """Write the sync options whole: a list that is merged into a manifest replaces the one that is there."""
    options = [one for one in list_at(application, "spec", "syncPolicy", "syncOptions") if isinstance(one, str)]
    kept = [one for one in options if not one.startswith("RespectIgnoreDifferences=")]
    return {"spec": {"syncPolicy": {"syncOptions": [*kept, RESPECT]}}}


def _check_elsewhere(applications: set[str], members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Yield members that an Application of another cluster manages: its settings cannot be seen from here."""
    for member in members:
        tracked = texts_at(member.live, "metadata", "annotations").get(_TRACKING, "").partition(":")[0]
        elsewhere = tracked and tracked.rpartition("_")[2] not in applications
        if elsewhere and applied_count(member, MANAGERS) is not AppliedCount.OMITTED:
            message = f"is managed by Argo CD's Application {tracked}, which is not in this cluster"
            remedy = "run keda-py doctor there, or add these lines to that Application"
            lines = ignoring_lines({}, [member])
            yield diagnose(member.live, message, [member], urgency=Urgency.UNKNOWN, lines=lines, remedy=remedy)
