"""One place makes specs: the manifest, then what lies over it, in order."""

import ast
from dataclasses import replace

import pytest

from keda_py.core.jobs.spec import JOBS_AS_WRITTEN
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError
from tests.places import ROOT

KEDA_PY = ROOT / "keda_py"
META = {"name": "app", "namespace": "shop"}
SPEC = {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "cron", "metadata": {}}], "maxReplicaCount": 4}
OBJECT = {"metadata": META, "spec": SPEC}
JOB = {"metadata": META, "spec": {**SPEC, "jobTargetRef": {"template": {}}}}
MAKERS = {"build_spec", "build_job_spec", "ScalingSpec", "JobScalingSpec"}
SOURCES = {"core/spec.py", "core/jobs/spec.py"}


def doubled(spec: ScalingSpec) -> ScalingSpec:
    return replace(spec, max_replicas=spec.max_replicas * 2)


def one_more(spec: ScalingSpec) -> ScalingSpec:
    return replace(spec, max_replicas=spec.max_replicas + 1)


def test_without_overlays_the_manifest_is_the_spec() -> None:
    assert AS_WRITTEN.read(OBJECT).max_replicas == 4
    assert JOBS_AS_WRITTEN.read(JOB).extra_jobs == 4


def test_each_overlay_lies_over_what_the_ones_before_it_left() -> None:
    assert AS_WRITTEN.over(doubled, one_more).read(OBJECT).max_replicas == 9
    assert AS_WRITTEN.over(one_more).over(doubled).read(OBJECT).max_replicas == 10
    assert AS_WRITTEN.read(OBJECT).max_replicas == 4, "the source itself is as it was"


def test_an_overlay_sees_whose_spec_it_is_given() -> None:
    def only_of_the_bank(spec: ScalingSpec) -> ScalingSpec:
        return doubled(spec) if spec.namespace == "bank" else spec

    source = AS_WRITTEN.over(only_of_the_bank)
    assert source.read(OBJECT).max_replicas == 4
    assert source.read({**OBJECT, "metadata": {**META, "namespace": "bank"}}).max_replicas == 8


def test_an_object_that_cannot_be_read_never_gets_to_an_overlay() -> None:
    def never(spec: ScalingSpec) -> ScalingSpec:
        raise AssertionError(spec)

    with pytest.raises(ConfigError, match=r"spec\.maxReplicaCount"):
        AS_WRITTEN.over(never).read({**OBJECT, "spec": {**SPEC, "maxReplicaCount": "four"}})


@pytest.mark.parametrize("status", [{"conditions": "none", "kedaPyHistory": b"[]"}, "sleeping", None])
def test_a_status_has_no_part_in_the_spec_whatever_it_holds(status: object) -> None:
    assert AS_WRITTEN.read({**OBJECT, "status": status}) == AS_WRITTEN.read(OBJECT)


def test_no_other_file_makes_a_spec() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in KEDA_PY.rglob("*.py")}
    found = {
        f"{path.relative_to(KEDA_PY)}:{node.lineno}"
        for path, text in texts.items()
        if str(path.relative_to(KEDA_PY)) not in SOURCES
        if any(maker in text for maker in MAKERS)  # to parse all takes a second of CPU
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS
    }
    assert found == set()
