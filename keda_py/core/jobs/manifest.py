"""JobScalingSpec -> the Job that it creates. Pure. Behaviour reference, section 10.6."""

from collections.abc import Mapping
from typing import Any

from keda_py import __version__
from keda_py.core.jobs.spec import EXCLUDED_LABELS, GENERATION, JOB_NAME_LABEL, JobScalingSpec

Manifest = dict[str, Any]
LONGEST_NAME = 63
"""Characters of a Job's name, which its pods carry as a label."""


def build_job(spec: JobScalingSpec, suffix: str) -> Manifest:
    """Build the whole manifest, named by the ScaledJob and `suffix`.

    The operator names the Job, not the API server, so that it can be looked up after a creation without an answer.
    """
    prefix = f"{spec.name}-"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            # The suffix is never cut: it is what makes the name unique among the Jobs of the ScaledJob.
            "name": prefix[: LONGEST_NAME - len(suffix)] + suffix,
            "generateName": prefix,
            "namespace": spec.namespace,
            "labels": _labels(spec),
            "annotations": {**spec.annotations, GENERATION: str(spec.generation)},
            "ownerReferences": [_owner(spec)],
        },
        "spec": {**spec.job, "template": _template(spec)},
    }


def _labels(spec: JobScalingSpec) -> dict[str, str]:
    excluded = spec.annotations.get(EXCLUDED_LABELS, "").split(",")
    own = {
        "app.kubernetes.io/name": spec.name,
        "app.kubernetes.io/version": __version__,
        "app.kubernetes.io/part-of": spec.name,
        "app.kubernetes.io/managed-by": "keda-operator",
    }
    copied = {key: value for key, value in spec.labels.items() if key not in excluded}
    # Jobs are found by this label, so no copied label may change it.
    return own | copied | {JOB_NAME_LABEL: spec.name}


def _template(spec: JobScalingSpec) -> Manifest:
    written: Mapping[str, Any] = spec.job.get("template") or {}
    meta: Mapping[str, Any] = written.get("metadata") or {}
    pod: Mapping[str, Any] = written.get("spec") or {}
    return {
        **written,
        "metadata": {
            **meta,
            "generateName": f"{spec.name}-",
            "labels": {**(meta.get("labels") or {}), JOB_NAME_LABEL: spec.name},
        },
        # The API server's default is Always, which it then refuses for a Job.
        "spec": {**pod, "restartPolicy": pod.get("restartPolicy") or "OnFailure"},
    }


def _owner(spec: JobScalingSpec) -> Manifest:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledJob",
        "name": spec.name,
        "uid": spec.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
