"""What is kept of HPAs says the same as the whole."""

from typing import Any

from keda_py.core.hpa.manifest import differs
from keda_py.kube.informers.informer_spec import Pool
from keda_py.operator.cluster.caches import WRITTEN, keep_hpa, keep_hpa_status, unpack_hpa
from tests.costs import within

ACTIVE = {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "found one"}
OWNER = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "orders", "uid": "u-1"}


def hpa(**spec: Any) -> dict[str, Any]:
    written = {
        "name": "keda-hpa-orders",
        "namespace": "shop",
        "uid": "u-2",
        "resourceVersion": "7",
        "labels": {"app": "orders"},
        "ownerReferences": [OWNER],
        "managedFields": [{"manager": "keda-operator"}],
    }
    status = {"conditions": [{**ACTIVE, "lastTransitionTime": "2026-11-20T08:00:00Z"}, {"type": "AbleToScale"}]}
    return {
        "metadata": written,
        "spec": {"maxReplicas": 3, "metrics": [], **spec},
        "status": status | {"desiredReplicas": 2},
    }


def test_all_that_a_manifest_is_compared_with_is_kept() -> None:
    kept = unpack_hpa(keep_hpa(hpa(), Pool()))
    assert not differs(hpa(), kept)
    assert differs(hpa(maxReplicas=4), kept)
    assert kept["metadata"] == {name: one for name, one in hpa()["metadata"].items() if name != "managedFields"}
    assert kept["status"] == {"conditions": [ACTIVE]}


def test_the_condition_is_one_for_all_that_have_it_and_the_text_changes_with_what_was_written() -> None:
    pool = Pool()
    one, same, other = keep_hpa(hpa(), pool), keep_hpa(hpa(), pool), keep_hpa(hpa(minReplicas=2), pool)
    assert one["status"]["conditions"][0] is other["status"]["conditions"][0]
    assert one[WRITTEN] == same[WRITTEN] != other[WRITTEN]


def test_where_it_is_asked_for_what_the_controller_found_is_kept_too() -> None:
    kept = unpack_hpa(keep_hpa_status(hpa(), Pool()))
    assert kept["status"]["desiredReplicas"] == 2
    assert [one["type"] for one in kept["status"]["conditions"]] == ["ScalingActive", "AbleToScale"]


def test_one_that_says_much_is_not_read_anew_each_time() -> None:
    long = hpa()
    long["metadata"]["annotations"] = {str(number): "x" * 1000 for number in range(1000)}
    kept = keep_hpa(long, Pool())
    assert unpack_hpa(kept)["metadata"]["annotations"] == long["metadata"]["annotations"]
    with within(0.1):
        for _ in range(1000):
            unpack_hpa(kept)


def test_one_that_is_nested_too_deep_to_be_written_is_kept_too() -> None:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    assert differs(hpa(), unpack_hpa(keep_hpa(hpa(metrics=deep), Pool())))
