"""Any request to the embedded API server gets the answer of an API server, and no malformed object is stored."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.kinds.crds import build_crds
from keda_py.clock import FakeClock
from keda_py.localkube.cluster import LocalCluster
from tests.localkube.client import CONFIGMAPS, DEPLOYMENTS, SCALED_OBJECTS, Client
from tests.properties import examples
from tests.validation.manifests import junk, mutated
from tests.waiting import turns

JSON = "application/json"
PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)
META: dict[str, Any] = {
    "name": "fuzz",
    "generateName": "fuzz-",
    "labels": {"app": "web"},
    "annotations": {"a": "b"},
    "finalizers": ["example.com/a"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}],
    "resourceVersion": "1",
    "uid": "",
    "managedFields": [
        {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}
    ],
}
POD = {"spec": {"containers": [{"name": "app", "image": "i", "env": [{"name": "A", "value": "b"}]}]}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, **POD}
DEPLOYMENT = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
HPA = {
    "minReplicas": 1,
    "maxReplicas": 3,
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "metrics": [
        {"type": "External", "external": {"metric": {"name": "s0"}, "target": {"type": "Value", "value": "5"}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}},
    ],
    "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
}
GROUPS = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
CRD = {
    "group": "example.com",
    "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
    "scope": "Namespaced",
    "versions": GROUPS,
}
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
KINDS: dict[str, dict[str, Any]] = {
    CONFIGMAPS: {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}},
    DEPLOYMENTS: {"kind": "Deployment", "apiVersion": "apps/v1", "spec": DEPLOYMENT},
    "/api/v1/namespaces/default/pods": {"kind": "Pod", "apiVersion": "v1", **POD},
    "/api/v1/namespaces/default/services": {
        "kind": "Service", "apiVersion": "v1", "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]},
    },
    "/api/v1/namespaces": {"kind": "Namespace", "apiVersion": "v1", "spec": {"finalizers": ["kubernetes"]}},
    "/apis/batch/v1/namespaces/default/jobs": {"kind": "Job", "apiVersion": "batch/v1", "spec": {"template": TEMPLATE}},
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2", "spec": HPA,
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "spec": CRD,
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "rules": [RULE],
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": {
        "kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1",
        "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}],
    },
    "/api/v1/namespaces/default/secrets": {"kind": "Secret", "apiVersion": "v1", "stringData": {"a": "b"}, "data": {"c": "ZA=="}},
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {
        "kind": "ValidatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1",
        "webhooks": [{"name": "a.b.c", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "rules": [RULE], "sideEffects": "None",
                      "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore"}],
    },
    "/apis/apiregistration.k8s.io/v1/apiservices": {
        "kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1",
        "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "service": {"name": "a", "namespace": "b"}},
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": {"holderIdentity": "a"},
    },
}  # fmt: skip
REVIEWS: dict[str, dict[str, Any]] = {
    "/apis/authentication.k8s.io/v1/tokenreviews": {"kind": "TokenReview", "spec": {"token": "t"}},
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "kind": "SubjectAccessReview",
        "spec": {"user": "u", "groups": ["g"], "resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
}
NAMED = {"metadata": {"name": "fuzz"}}
OPERATIONS = [
    {"op": "replace", "path": "/metadata/labels", "value": {"a": "b"}},
    {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}},
    {"op": "test", "path": "/kind", "value": "ConfigMap"},
    {"op": "move", "from": "/spec/replicas", "path": "/spec/x"},
    {"op": "remove", "path": "/spec"},
]
NO_MERGE_KEY = "does not contain declared merge key"
"""A real server answers 500 to a strategic merge patch of a list whose items lack the merge key."""
Request = tuple[str, str, Any, str]
"""Method, path, body, content type."""


TURNS = 20
"""Turns of the loop, without time passing, in which the controllers see the stored objects."""


class Complaints(logging.Handler):
    """Collects the log of failing controllers."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(self.format(record))


@dataclass
class Fuzzed:
    """One cluster for all cases, with the loop that runs it."""

    runner: asyncio.Runner
    cluster: LocalCluster

    def play(self, *requests: Request) -> None:
        """Send the requests, check that each gets an answer of an API server, and restore the cluster."""
        self.runner.run(self._play(requests))

    async def _play(self, requests: tuple[Request, ...]) -> None:
        before = self.cluster.store.backup()
        for method, path, body, kind in requests:
            answer = await Client(self.cluster).ask(method, path, body, {"content-type": kind})
            assert isinstance(answer.body, dict)
            assert isinstance(answer.body["kind"], str)
            assert 200 <= answer.status < 500 or NO_MERGE_KEY in answer.body["message"]
        await turns(TURNS)
        self.cluster.store.restore(before)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    async def start() -> LocalCluster:
        cluster = LocalCluster(FakeClock(datetime(2026, 11, 21, 8, tzinfo=UTC)))
        await cluster.__aenter__()
        await cluster.apply(build_crds())
        return cluster

    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    with asyncio.Runner() as runner:
        cluster = runner.run(start())
        yield Fuzzed(runner, cluster)
        runner.run(cluster.__aexit__(None, None, None))
    logging.getLogger().removeHandler(complaints)
    assert complaints.told == []


def spoilt(value: Any, draw: st.DrawFn) -> Any:
    """Replace some values by others of any type."""
    if draw(st.integers(0, 14)) == 0:
        return draw(junk)
    match value:
        case dict():
            return {key: spoilt(one, draw) for key, one in value.items() if draw(st.integers(0, 19))}
        case list():
            return [spoilt(one, draw) for one in value]
        case _:
            return value


@given(data=st.data())
@examples(100)
def test_a_body_of_any_shape_is_stored_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(KINDS)))
    body = spoilt(KINDS[path] | {"metadata": META}, data.draw)
    options = spoilt({"propagationPolicy": "Orphan", "preconditions": {"uid": "u"}}, data.draw)
    fuzzed.play(("POST", path, body, JSON), ("PUT", f"{path}/fuzz", body, JSON))
    fuzzed.play(("POST", path, KINDS[path] | NAMED, JSON), ("DELETE", f"{path}/fuzz", options, JSON))


@given(data=st.data())
@examples(150)
def test_a_patch_of_any_shape_is_applied_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    path, kind = data.draw(st.sampled_from(sorted(KINDS))), data.draw(st.sampled_from(PATCHES))
    part = data.draw(st.sampled_from(["", "/status", "/scale"]))
    patch = spoilt(OPERATIONS if "json-patch" in kind else KINDS[path] | {"metadata": META}, data.draw)
    fuzzed.play(("POST", path, KINDS[path] | NAMED, JSON), ("PATCH", f"{path}/fuzz{part}", patch, kind))


@given(body=mutated())
@examples(100)
def test_a_scaled_object_of_any_shape_is_stored_or_refused(fuzzed: Fuzzed, body: dict[str, Any]) -> None:
    fuzzed.play(("POST", SCALED_OBJECTS, body, JSON), ("PATCH", f"{SCALED_OBJECTS}/so", body, PATCHES[-1]))


@given(data=st.data())
@examples(60)
def test_a_review_of_any_shape_is_answered_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(REVIEWS)))
    fuzzed.play(("POST", path, spoilt(REVIEWS[path] | {"metadata": META}, data.draw), JSON))
