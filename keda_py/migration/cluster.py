"""Cluster around KEDA: its version, the owner of the CRDs, the server of external metrics, the webhooks.

What Helm keeps at `helm uninstall` is what the release's own manifest says; an annotation that `kubectl annotate` wrote
is not in there and keeps nothing.
"""

from collections.abc import Iterator

import re2

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, text_at, texts_at, title_of, value_at
from keda_py.kube.resources import (
    API_SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    KEDAS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
)
from keda_py.migration.findings import Finding, Severity, fine
from keda_py.migration.installation import Installation

OLDEST = (1, 26)
EXTERNAL_METRICS = "v1beta1.external.metrics.k8s.io"
OWN_STATUS = "kedaPy"
_RELEASE = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_POLICY = "helm.sh/resource-policy"
_VERSION = re2.compile(r"v?(\d+)\.(\d+)")
_SERVICES = ("keda-metrics-apiserver", "keda-operator-metrics-apiserver")
_APPLY = "keda-py crds | kubectl apply --server-side --force-conflicts -f -"


def check_cluster(installation: Installation) -> Iterator[Finding]:
    """Check what exists once in a cluster."""
    yield from _check_unread(installation)
    if installation.live:
        yield from _check_version(installation.version)
    yield from _check_definitions(installation)
    yield from _check_metrics_api(installation)
    for configuration in installation.of(VALIDATING_WEBHOOK_CONFIGURATIONS):
        yield from _check_webhook(configuration)


def _check_unread(installation: Installation) -> Iterator[Finding]:
    """Yield a finding for each kind or place in a file that could not be read, since it may hide others."""
    for what, refusal in installation.unread.items():
        if installation.live:
            message, remedy = f"could not be looked at: {refusal}", "run as a user who may read it"
            yield Finding(severity=Severity.CHANGES, object=what, message=message, remedy=remedy)
        else:
            remedy = "mend the file and check again: what it holds from there on is not known"
            yield Finding(severity=Severity.BLOCKS, object=what, message=refusal, remedy=remedy)


def _check_version(written: str) -> Iterator[Finding]:
    shape = _VERSION.match(written)
    if shape is None or (int(shape[1]), int(shape[2])) >= OLDEST:
        return
    message = f"Kubernetes {written}; keda-py needs {OLDEST[0]}.{OLDEST[1]}"
    yield Finding(severity=Severity.BLOCKS, object="cluster", message=message, remedy="upgrade the cluster first")


def _check_definitions(installation: Installation) -> Iterator[Finding]:
    expected = {f"{resource.plural}.{resource.group}" for resource in KEDAS}
    there = {name_of(body): body for body in installation.of(CUSTOM_RESOURCE_DEFINITIONS)}
    for name in sorted(expected & there.keys()):
        yield from _check_owner(there[name])
        yield from _check_status(there[name])
    missing = sorted(expected - there.keys())
    if installation.live and missing and "CustomResourceDefinition" not in installation.unread:
        message = f"not there: {', '.join(missing)}"
        yield Finding(severity=Severity.FINE, object="CustomResourceDefinitions", message=message, remedy=_APPLY)


def _check_owner(definition: Obj) -> Iterator[Finding]:
    annotations = texts_at(definition, "metadata", "annotations")
    release, policy = annotations.get(_RELEASE), annotations.get(_POLICY)
    if not release:
        yield fine(definition, "belongs to no Helm release: uninstalling KEDA leaves it")
    elif policy == "keep" and not _written_by_hand(definition):
        yield fine(definition, f"is kept when Helm release {release} is uninstalled")
    else:
        namespace = annotations.get(_RELEASE_NAMESPACE, "keda")
        by_hand = "its annotation to keep it is not in the release's manifest" if policy else "it is not kept"
        yield Finding(
            severity=Severity.BLOCKS,
            object=title_of(definition),
            message=f"belongs to Helm release {namespace}/{release}: {by_hand}; `helm uninstall` takes every object of "
            "this kind along",
            remedy=f"helm upgrade {release} kedacore/keda -n {namespace} --reuse-values "
            r"--set 'crds.additionalAnnotations.helm\.sh/resource-policy=keep'",
        )


def _written_by_hand(definition: Obj) -> bool:
    """Whether kubectl wrote the policy afterwards; managedFields show it if they were asked for."""
    owners = [
        text_at(entry, "manager")
        for entry in maps_at(definition, "metadata", "managedFields")
        if f"f:{_POLICY}" in map_at(entry, "fieldsV1", "f:metadata", "f:annotations")
    ]
    return bool(owners) and all(owner.startswith("kubectl") for owner in owners)


def _check_status(definition: Obj) -> Iterator[Finding]:
    """Warn of KEDA's own definition, which drops the status fields that it does not know."""
    if value_at(definition, "spec", "names", "kind") != "ScaledObject":
        return
    path = ("schema", "openAPIV3Schema", "properties", "status", "properties", OWN_STATUS)
    if all(value_at(version, *path) is None for version in list_at(definition, "spec", "versions")):
        message = f"has no status.{OWN_STATUS}: the reason of the last decision is not shown there, all else works"
        yield fine(definition, message, f"once KEDA is gone: {_APPLY}")


def _check_metrics_api(installation: Installation) -> Iterator[Finding]:
    found = next((one for one in installation.of(API_SERVICES) if name_of(one) == EXTERNAL_METRICS), None)
    if found is None:
        return
    namespace, name = (text_at(found, "spec", "service", part) for part in ("namespace", "name"))
    where = f"{namespace}/{name}"
    if name in _SERVICES:
        message = f"is served by {where}; while no server answers for it, HPAs keep their replicas"
        yield fine(found, message, "install keda-py right after KEDA is uninstalled")
        return
    yield Finding(
        severity=Severity.BLOCKS,
        object=title_of(found),
        message=f"is served by {where}, which is not KEDA; a cluster has one server of external metrics",
        remedy="let keda-py serve it and ask the other for the rest: --external-metrics-upstream=https://"
        f"{name}.{namespace}.svc",
    )


def _check_webhook(configuration: Obj) -> Iterator[Finding]:
    policies = {
        str(value_at(webhook, "failurePolicy") or "Fail")
        for webhook in list_at(configuration, "webhooks")
        for rule in list_at(webhook, "rules")
        if "keda.sh" in list_at(rule, "apiGroups")
    }
    if "Fail" in policies:
        name = name_of(configuration)
        message = "fails closed (failurePolicy Fail): left behind without its server, it refuses every ScaledObject"
        remedy = f"after KEDA is uninstalled see that it is gone: kubectl get validatingwebhookconfiguration {name}"
        yield Finding(severity=Severity.CHANGES, object=title_of(configuration), message=message, remedy=remedy)
