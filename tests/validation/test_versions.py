"""`keda-py validate --kubernetes VERSION`: native HPAs, and what that version makes of ScaledObjects."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.validation.problems import Problem
from keda_py.validation.report import validate_texts
from tests import builders

Obj = dict[str, Any]
QUEUE: Obj = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "4"}},
}
MEMORY: Obj = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}
CONTAINER: Obj = {
    "type": "ContainerResource",
    "containerResource": {
        "name": "cpu",
        "container": "app",
        "target": {"type": "Utilization", "averageUtilization": 50},
    },
}
TOLERANT = {"scaleUp": {"tolerance": "0.05"}}


def hpa(*metrics: Obj, **spec: Any) -> Obj:
    bounds = {"minReplicas": 0, "maxReplicas": 10}
    return builders.hpa("web", "web", "shop", metrics=list(metrics) or [QUEUE], **bounds | spec)


def scaled(*triggers: Obj, **spec: Any) -> Obj:
    return builders.bare_scaled_object(*triggers or (builders.cron(),), name="web", namespace="shop", **spec)


async def found(body: Obj, kubernetes: int | None) -> list[Problem]:
    report = await validate_texts({"a.yaml": yaml.safe_dump(body)}, kubernetes=kubernetes)
    return list(report.problems)


async def told(body: Obj, kubernetes: int | None) -> list[tuple[str, str]]:
    return [(one.severity, one.field) for one in await found(body, kubernetes)]


@pytest.mark.parametrize("version", [26, 36])
async def test_a_minimum_of_zero_is_refused_before_1_37_with_the_version_that_takes_it(version: int) -> None:
    (problem,) = await found(hpa(), version)
    assert (problem.severity, problem.field) == ("error", "spec.minReplicas")
    assert problem.message.endswith(
        "Invalid value: 0: must be greater than or equal to 1; HPAs go to zero from 1.37 on, a ScaledObject does so on "
        "every version"
    )


async def test_from_1_37_on_a_minimum_of_zero_is_taken() -> None:
    assert await told(hpa(), 37) == []


async def test_without_a_version_native_hpas_are_not_looked_at() -> None:
    assert await told(hpa(), None) == []


async def test_a_minimum_of_zero_without_a_metric_that_lasts_is_refused_by_every_version() -> None:
    assert await told(hpa(MEMORY), 37) == [("error", "spec.metrics")]


async def test_a_resource_metric_is_told_to_keep_it_at_one() -> None:
    (problem,) = await found(hpa(QUEUE, MEMORY), 37)
    assert (problem.severity, problem.field, problem.code) == ("warning", "spec.metrics[1]", "kubernetes-version")


async def test_what_is_wrong_with_an_hpa_on_any_version_is_told_with_its_field() -> None:
    assert await told(hpa(maxReplicas=0), 37) == [("error", "spec.maxReplicas")]
    assert await told(hpa(maxReplica=3), 37) == [("error", "spec.maxReplica")]


@pytest.mark.parametrize(("version", "told_of"), [(34, [("warning", "spec.behavior.scaleUp.tolerance")]), (35, [])])
async def test_a_tolerance_is_dropped_before_1_35(version: int, told_of: list[tuple[str, str]]) -> None:
    assert await told(hpa(minReplicas=1, behavior=TOLERANT), version) == told_of


async def test_a_metric_of_one_container_is_refused_by_1_26() -> None:
    assert await told(hpa(CONTAINER, minReplicas=1), 26) == [("error", "spec.metrics[0].type")]
    assert await told(hpa(CONTAINER, minReplicas=1), 27) == []


async def test_an_api_that_the_version_does_not_serve_is_refused_with_those_that_it_does() -> None:
    (problem,) = await found(hpa() | {"apiVersion": "autoscaling/v2beta2"}, 37)
    assert problem.message.endswith("write autoscaling/v2 or autoscaling/v1")


async def test_what_the_version_drops_of_a_scaled_object_is_told() -> None:
    tolerant = scaled(advanced={"horizontalPodAutoscalerConfig": {"behavior": TOLERANT}})
    where = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.tolerance"
    assert await told(tolerant, 34) == [("warning", where)]
    assert await told(tolerant, 35) == []


async def test_a_trigger_on_one_container_is_refused_by_1_26() -> None:
    contained = builders.cpu() | {"metadata": {"value": "60", "containerName": "app"}}
    assert ("error", "spec.triggers[0].metadata.containerName") in await told(scaled(contained, minReplicaCount=1), 26)


@pytest.mark.parametrize("spec", [None, [], "x", {"metrics": "x"}, {"metrics": [None]}, {"behavior": [1]}])
async def test_an_hpa_of_any_shape_is_refused_in_words(spec: object) -> None:
    problems = await found(hpa() | {"spec": spec}, 37)
    assert all(one.message for one in problems)
    assert problems


@pytest.mark.parametrize(("text", "code"), [("1.37", 0), ("v1.37.2", 0), ("1.36", 1)])
def test_the_version_is_a_flag(text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hpa.yaml"
    file.write_text(yaml.safe_dump(hpa()))
    assert main(["validate", "--kubernetes", text, str(file)]) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 object checked")


@pytest.mark.parametrize(
    ("text", "words"), [("1.25", "give a version from 1.26 to 1.37"), ("newest", "write it as 1.37")]
)
def test_a_version_that_is_not_known_is_wrong_usage(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hpa.yaml"
    file.write_text(yaml.safe_dump(hpa()))
    assert main(["validate", "--kubernetes", text, str(file)]) == 2
    assert words in capsys.readouterr().err
