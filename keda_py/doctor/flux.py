"""Flux's Kustomizations and HelmReleases that set the counts of members.

In: members with Flux's labels and the field managers of its controllers. Out: diagnoses with the patch to add, or the
rule for drift detection. A Kustomization applies at each interval; a HelmRelease at each upgrade, and where it detects
drift. Members of an Environment with `gitops.flux` are left out, since the operator annotates them by itself; an
upgrade of a HelmRelease heeds no annotation.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import re2

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, namespace_of, text_at, texts_at, value_at
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.manifests import AppliedCount, applied_count
from keda_py.doctor.members import Member, failures_of
from keda_py.kube.resources import Obj
from keda_py.migration.installation import Installation

KUSTOMIZATIONS = "kustomizations.kustomize.toolkit.fluxcd.io"
HELM_RELEASES = "helmreleases.helm.toolkit.fluxcd.io"
_KUSTOMIZE, _HELM = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"
_LEFT_ALONE = {f"{_KUSTOMIZE}/reconcile": ("disabled",), f"{_KUSTOMIZE}/ssa": ("Ignore", "IfNotPresent")}
"""Annotations with which kustomize-controller leaves an object as it is."""
_DRIFT_LEFT_ALONE = {f"{_HELM}/driftDetection": ("disabled",)}


def check_flux(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check the owners that the labels of members name."""
    for owner, found in _owners(installation, members, "Kustomization", _KUSTOMIZE):
        yield from _check_kustomization(owner, found)
    for owner, found in _owners(installation, members, "HelmRelease", _HELM):
        yield from _check_helm_release(owner, found)


def _owners(
    installation: Installation, members: Sequence[Member], kind: str, group: str
) -> Iterator[tuple[Obj, list[Member]]]:
    """Yield each owner with its members; one that cannot be read is known by its name alone."""
    grouped: defaultdict[tuple[str, str], list[Member]] = defaultdict(list)
    for member in members:
        labels = texts_at(member.live, "metadata", "labels")
        if name := labels.get(f"{group}/name"):
            grouped[labels.get(f"{group}/namespace", ""), name].append(member)
    known = {(namespace_of(one), name_of(one)): one for one in installation.objects.get(kind, ())}
    for (namespace, name), found in sorted(grouped.items()):
        unseen = {"kind": kind, "metadata": {"namespace": namespace, "name": name}}
        yield known.get((namespace, name), unseen), found


def _check_kustomization(owner: Obj, members: Sequence[Member]) -> Iterator[Diagnosis]:
    applied = [one for one in members if not one.flux_is_told and not _is_left_alone(one, _LEFT_ALONE)]
    taken = [one for one in applied if applied_count(one, ("kustomize-controller",)) is AppliedCount.SET]
    if taken:
        suspended = value_at(owner, "spec", "suspend") is True
        lines = {"spec": {"patches": [_patch(member) for member in taken]}}
        message = "sets the count of members at each of its intervals"
        yield diagnose(
            owner,
            f"{message}, once it is no longer suspended" if suspended else message,
            taken,
            urgency=Urgency.NOTE if suspended else Urgency.FIGHTS,
            lines=lines,
            remedy="; ".join(filter(None, ("or leave the count out of the manifest in Git", failures_of(taken)))),
        )


def _patch(member: Member) -> Any:
    target = {"group": member.group, "kind": member.kind, "name": member.name, "namespace": member.namespace}
    return {"target": target, "patch": f"- op: remove\n  path: {member.pointer}\n"}


def _check_helm_release(owner: Obj, members: Sequence[Member]) -> Iterator[Diagnosis]:
    counts = {member.key: applied_count(member, ("helm-controller",)) for member in members}
    taken = [one for one in members if counts[one.key] is not AppliedCount.OMITTED]
    mode = text_at(owner, "spec", "driftDetection", "mode") or "disabled"
    if mode == "enabled":
        drifting = [one for one in taken if not one.flux_is_told and not _ignores_drift(owner, one)]
        for count in AppliedCount:
            if found := [one for one in drifting if counts[one.key] is count]:
                yield _drift(owner, found, count)
    elif found := [one for one in taken if counts[one.key] is AppliedCount.SET]:
        message = "sets the count of members at each upgrade of the release"
        remedy = "leave the count out of the chart's values, or set it to what members have by day"
        yield diagnose(owner, message, found, urgency=Urgency.NOTE, remedy=remedy)


def _drift(owner: Obj, members: Sequence[Member], count: AppliedCount) -> Diagnosis:
    message, urgency = "drift detection puts the count of members back", Urgency.FIGHTS
    if count is not AppliedCount.SET:
        message = f"{message} if the chart sets one, {count.why}"
        urgency = Urgency.UNKNOWN if count is AppliedCount.NO_TRACE else Urgency.NOTE
    rules = [{"target": {"kind": one.kind, "name": one.name}, "paths": [one.pointer]} for one in members]
    lines = {"spec": {"driftDetection": {"mode": "enabled", "ignore": rules}}}
    return diagnose(owner, message, members, urgency=urgency, lines=lines, remedy=failures_of(members))


def _ignores_drift(owner: Obj, member: Member) -> bool:
    """Whether a rule of drift detection covers the count, or an annotation leaves the member out of it."""
    rules = maps_at(owner, "spec", "driftDetection", "ignore")
    return _is_left_alone(member, _DRIFT_LEFT_ALONE) or any(
        {"", "/spec", member.pointer}.intersection(one for one in list_at(rule, "paths") if isinstance(one, str))
        and _targets(map_at(rule, "target"), member)
        for rule in rules
    )


def _targets(target: Obj, member: Member) -> bool:
    """Whether a target of Flux selects the member; names are anchored patterns, selectors are not looked at."""
    if text_at(target, "labelSelector") or text_at(target, "annotationSelector"):
        return False
    wanted = ("group", member.group), ("kind", member.kind), ("name", member.name), ("namespace", member.namespace)
    return all(_fits(text_at(target, part), value) for part, value in wanted)


def _fits(pattern: str, value: str) -> bool:
    if not pattern:
        return True
    try:
        return re2.fullmatch(pattern, value) is not None
    except re2.error:
        return False


def _is_left_alone(member: Member, annotations: Mapping[str, Sequence[str]]) -> bool:
    written = texts_at(member.live, "metadata", "annotations")
    return any(written.get(name) in values for name, values in annotations.items())
