"""Argo CD Applications that put the counts of members back: `selfHeal` at once, and each sync without it.

In: Applications and members. Out: diagnoses with the `ignoreDifferences` to add; `core/gitops/argocd.py` reads both.
Members of an Environment with `gitops.argocd` are left out, since the operator adds these lines by itself.
"""

from collections.abc import Iterator, Sequence

from keda_py.apis.foreign import name_of, texts_at, value_at
from keda_py.core.gitops.argocd import (
    RESPECT,
    ignores,
    lines_to_add,
    managed_places,
    respecting_options,
    respects,
    syncs_itself,
)
from keda_py.core.gitops.truce import generator_of
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.manifests import AppliedCount, applied_count
from keda_py.doctor.members import Member, failures_of
from keda_py.kube.resources import Obj
from keda_py.migration.installation import Installation

APPLICATIONS = "applications.argoproj.io"
KIND = "Application"
MANAGERS = ("argocd-controller", "argocd-application-controller")
"""Field managers of Argo CD's server-side apply."""
_TRACKING = "argocd.argoproj.io/tracking-id"


def check_applications(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check each Application that syncs by itself, and members whose Application is in another cluster."""
    known = {member.count_field.place: member for member in members}
    applications = installation.objects.get(KIND, ())
    for application in applications:
        if syncs_itself(application):
            places = sorted(set(managed_places(application)))
            yield from _check_application(application, [known[place] for place in places if place in known])
    if KIND not in installation.unread:
        yield from _check_elsewhere({name_of(one) for one in applications}, members)


def _check_application(application: Obj, found: Sequence[Member]) -> Iterator[Diagnosis]:
    # The operator leaves an Application to its ApplicationSet, which would take each line away.
    managed = [one for one in found if generator_of(application) or not one.argocd_is_told]
    heals = value_at(application, "spec", "syncPolicy", "automated", "selfHeal") is True
    counts = {member.key: applied_count(member, MANAGERS) for member in managed}
    members = [member for member in managed if counts[member.key] is not AppliedCount.OMITTED]
    covered = {member.key: ignores(application, member.count_field) for member in members}
    unsure = [member for member in members if covered[member.key] is None]
    ignored = [member for member in members if covered[member.key]]
    for count in AppliedCount:
        shown = [one for one in members if covered[one.key] is False and counts[one.key] is count]
        if shown:
            yield _not_ignored(application, shown, count, heals=heals)
    if ignored and not respects(application):
        message = f"the difference is ignored, but each sync still writes the count: syncOptions lack {RESPECT}"
        lines = {"spec": {"syncPolicy": {"syncOptions": respecting_options(application)}}}
        yield diagnose(application, message, ignored, lines=lines)
    if unsure:
        message = "a jqPathExpression of ignoreDifferences is more than a path: whether it ignores the count is unknown"
        lines = _lines(application, unsure)
        yield diagnose(application, message, unsure, urgency=Urgency.UNKNOWN, lines=lines)


def _not_ignored(application: Obj, members: Sequence[Member], count: AppliedCount, *, heals: bool) -> Diagnosis:
    how = "selfHeal puts the count back at once" if heals else "each automated sync puts the count back"
    urgency = Urgency.FIGHTS if heals else Urgency.NOTE
    if count is not AppliedCount.SET:
        how = f"{how} if Git's manifest sets one, {count.why}"
        urgency = Urgency.UNKNOWN if count is AppliedCount.NO_TRACE and heals else Urgency.NOTE
    remedy = "; ".join(filter(None, ("or leave the count out of the manifest in Git", failures_of(members))))
    lines = _lines(application, members)
    return diagnose(application, how, members, urgency=urgency, lines=lines, remedy=remedy)


def _lines(application: Obj, members: Sequence[Member]) -> Obj:
    return lines_to_add(application, [member.count_field for member in members])


def _check_elsewhere(applications: set[str], members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Yield members that an Application of another cluster manages: its settings cannot be seen from here."""
    for member in members:
        tracked = texts_at(member.live, "metadata", "annotations").get(_TRACKING, "").partition(":")[0]
        elsewhere = tracked and tracked.rpartition("_")[2] not in applications
        if elsewhere and applied_count(member, MANAGERS) is not AppliedCount.OMITTED:
            message = f"is managed by Argo CD's Application {tracked}, which is not in this cluster"
            remedy = "run keda-py doctor there, or add these lines to that Application"
            lines = _lines({}, [member])
            yield diagnose(member.live, message, [member], urgency=Urgency.UNKNOWN, lines=lines, remedy=remedy)
