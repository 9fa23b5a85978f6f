"""What a server sends reaches the caches, or is refused as no object of Kubernetes; nothing in between ends a watch."""

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.clock import SystemClock
from keda_py.errors import Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.response_checks import check_object
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.controller.state import fingerprint_of
from keda_py.operator.scaled_jobs.caches import JobCaches
from tests.properties import examples
from tests.validation.manifests import junk

REAL = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-11-21T05:56:00Z",
        "labels": {"app": "web", "scaledjob.keda.sh/name": "web", "job-name": "web"},
        "annotations": {"autoscaling.keda.sh/paused": "true"},
        "finalizers": ["finalizer.keda.sh"],
        "ownerReferences": [{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "u-2"}],
    },
    "spec": {
        "replicas": 1,
        "scaleTargetRef": {"name": "web", "kind": "Deployment", "apiVersion": "apps/v1"},
        "advanced": {"horizontalPodAutoscalerConfig": {"name": "own"}},
        "triggers": [{"type": "cron", "metadata": {}, "authenticationRef": {"name": "auth"}}],
        "template": {"spec": {"containers": [{"name": "app", "env": [{"name": "A"}], "resources": {}}]}},
    },
    "status": {
        "externalMetricNames": ["s0-cron"],
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Complete", "status": "True"}],
    },
}
STRANGE = (
    {"metadata": {"labels": ["a"]}},
    {"metadata": {"annotations": {"a": 1}}},
    {"metadata": {"ownerReferences": {"kind": "ScaledObject"}}},
    {"metadata": {"ownerReferences": [7]}},
    {"metadata": {"finalizers": "finalizer.keda.sh"}},
    {"metadata": {"generation": "2"}},
    {"metadata": {"name": ["web"]}},
    {"spec": "text"},
)


def specs() -> list[InformerSpec]:
    """Every informer of the operator's caches; nothing is asked."""
    client = KubeClient(SystemClock(), "")
    caches, jobs = Caches(client, ()), JobCaches(client, ())
    others = (caches.limit_ranges, caches.event_sources, caches.cluster_event_sources)
    return [one.spec for one in (*caches.all, *others, jobs.scaled_jobs, jobs.jobs, jobs.pods)]


SPECS = specs()


def as_read(value: Any) -> Any:
    """What the client reads from a body: an integer of more than 64 bits becomes a float."""
    match value:
        case dict():
            return {key: as_read(one) for key, one in value.items()}
        case list():
            return [as_read(one) for one in value]
        case int() if not -(2**63) <= value < 2**64:
            return math.copysign(1e300, value)
        case _:
            return value


def spoilt(value: Any, draw: st.DrawFn) -> Any:
    if draw(st.integers(0, 12)) == 0:
        return as_read(draw(junk))
    match value:
        case dict():
            return {key: spoilt(one, draw) for key, one in value.items()}
        case list():
            return [spoilt(one, draw) for one in value]
        case _:
            return value


def take(spec: InformerSpec, obj: Any) -> None:
    """As a reflector does with an event: check, keep, index, tell."""
    cache = Cache(spec.indexes)
    cache.subscribe(lambda old, new: fingerprint_of(new or old or {}) and None)
    kept = spec.ingest(check_object(obj, spec.resource))
    if kept is not None:
        cache.put(kept)
        cache.put(kept)


@given(data=st.data())
@examples(150)
def test_an_object_of_any_shape_is_kept_or_refused_in_words(data: st.DataObject) -> None:
    obj = spoilt(REAL, data.draw)
    for spec in SPECS:
        with suppress(Unavailable):
            take(spec, obj)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.resource.plural)
def test_a_real_object_is_kept_by_every_informer(spec: InformerSpec) -> None:
    take(spec, REAL)


@pytest.mark.parametrize("change", STRANGE, ids=str)
def test_what_no_api_server_sends_is_refused(change: dict[str, Any]) -> None:
    strange = REAL | {part: value if part == "spec" else REAL[part] | value for part, value in change.items()}
    with pytest.raises(Unavailable):
        check_object(strange, SPECS[0].resource)
