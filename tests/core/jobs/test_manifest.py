"""The Job that a ScaledJob creates."""

from typing import Any

from keda_py import __version__
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.core.jobs.manifest import build_job
from keda_py.core.jobs.spec import build_job_spec

POD = {"containers": [{"name": "main", "image": "example/worker"}]}


def build(*, name: str = "work", template: Any = None, **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "uid": "u-1", "generation": 3, **metadata}
    spec = {
        "jobTargetRef": {"backoffLimit": 4, "template": template or {"spec": POD}},
        "triggers": [{"type": "redis", "metadata": {}}],
    }
    return build_job(build_job_spec(parse_object(ScaledJob, {"metadata": meta, "spec": spec})), "abcde")


def test_a_job_is_named_labelled_and_owned_by_its_scaled_job() -> None:
    meta = build()["metadata"]
    assert meta == {
        "name": "work-abcde",
        "generateName": "work-",
        "namespace": "shop",
        "labels": {
            "app.kubernetes.io/name": "work",
            "app.kubernetes.io/version": __version__,
            "app.kubernetes.io/part-of": "work",
            "app.kubernetes.io/managed-by": "keda-operator",
            "scaledjob.keda.sh/name": "work",
        },
        "annotations": {"scaledjob.keda.sh/generation": "3"},
        "ownerReferences": [
            {
                "apiVersion": "keda.sh/v1alpha1",
                "kind": "ScaledJob",
                "name": "work",
                "uid": "u-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_labels_are_copied_unless_excluded_and_annotations_always() -> None:
    annotations = {"scaledjob.keda.sh/job-excluded-labels": "foo.bar/version, team", "note": "x"}
    meta = build(labels={"team": "a", "foo.bar/version": "1", "tier": "b"}, annotations=annotations)["metadata"]
    # The list is not trimmed: " team" excludes nothing.
    assert {key: meta["labels"].get(key) for key in ("team", "tier", "foo.bar/version")} == {
        "team": "a",
        "tier": "b",
        "foo.bar/version": None,
    }
    assert meta["annotations"] == {**annotations, "scaledjob.keda.sh/generation": "3"}


def test_the_pod_template_keeps_what_is_written_and_gets_the_name() -> None:
    template = {"metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}}, "spec": POD}
    spec = build(template=template)["spec"]
    assert spec["backoffLimit"] == 4
    assert spec["template"]["metadata"] == {
        "generateName": "work-",
        "labels": {"app": "x", "scaledjob.keda.sh/name": "work"},
        "annotations": {"a": "b"},
    }
    assert spec["template"]["spec"] == {**POD, "restartPolicy": "OnFailure"}


def test_a_restart_policy_that_is_written_stays() -> None:
    assert build(template={"spec": {**POD, "restartPolicy": "Never"}})["spec"]["template"]["spec"]["restartPolicy"] == (
        "Never"
    )


def test_a_long_name_is_cut_so_that_pods_can_carry_it() -> None:
    name = build(name="w" * 63)["metadata"]["name"]
    assert (len(name), name[-5:]) == (63, "abcde")
