"""What `keda-py validate` finds in texts: the field, its line, and words that say what to do."""

from typing import Any

import pytest
import yaml

from keda_py.kube.resources import Obj
from keda_py.validation.problems import Problem
from keda_py.validation.report import validate_texts
from tests import builders
from tests.builders import bare_scaled_object, cpu, cron, from_key, scaled_job

CRON = cron()
CPU = cpu()
REDIS = {"type": "redis", "metadata": {"address": "127.0.0.1:6379", "listName": "jobs"}}


def scheduled(name: str = "web", namespace: str = "", **spec: Any) -> Obj:
    return bare_scaled_object(name=name, namespace=namespace, **spec)


def requesting(name: str = "web", **requests: str) -> Obj:
    """One that leaves its count to the ScaledObject."""
    built = builders.deployment(name, resources={"requests": requests})
    del built["spec"]["replicas"]
    return built


def of_creds(*parameters: str) -> Obj:
    return builders.authentication(secretTargetRef=[from_key(one, "creds") for one in parameters])


def creds(*keys: str) -> Obj:
    return builders.secret("creds", **dict.fromkeys(keys, "x"))


async def found(*objects: dict[str, Any]) -> list[Problem]:
    report = await validate_texts({"m.yaml": yaml.safe_dump_all(objects, sort_keys=False)})
    return list(report.problems)


async def sentences(*objects: dict[str, Any]) -> list[str]:
    return [
        f"{one.severity}: {one.field}: {one.message.removeprefix(f'{one.field}: ')}" for one in await found(*objects)
    ]


async def test_good_manifests_pass_without_a_word() -> None:
    assert await found(requesting(cpu="1"), scheduled(minReplicaCount=1, triggers=[CPU, CRON])) == []


async def test_a_problem_says_file_line_and_object() -> None:
    [problem] = await found(scheduled(namespace="shop", idleReplicaCount=3, minReplicaCount=2))
    assert (problem.file, problem.line, problem.object) == ("m.yaml", 16, "ScaledObject shop/web")
    assert problem.sentence == (
        "ScaledObject shop/web: spec.idleReplicaCount: IdleReplicaCount=3 must be less than MinReplicaCount=2"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            {"triggers": [{"type": "crom", "metadata": {}}]},
            "error: spec.triggers[0].type: no scaler found for type: crom; nearest: cron",
            id="unknown type",
        ),
        pytest.param(
            {"triggers": [{**REDIS, "metadata": {**REDIS["metadata"], "listLenght": "5"}}]},
            'warning: spec.triggers[0].metadata.listLenght: redis does not read this key; did you mean "listLength"?',
            id="unknown key",
        ),
        pytest.param(
            {"triggers": [{**REDIS, "metadata": {"address": "127.0.0.1:6379"}}]},
            'error: spec.triggers[0].metadata.listName: missing required parameter "listName" in [triggerMetadata]: set '
            "listName in the trigger's metadata",
            id="missing key",
        ),
        pytest.param(
            {"triggers": [{**CRON, "metadata": {**CRON["metadata"], "timezone": "Mars/Olympus"}}]},
            "error: spec.triggers[0].metadata.timezone: timezone: 'Mars/Olympus' is not a known time zone; write an IANA "
            "name, e.g. Europe/Prague or UTC",
            id="time zone",
        ),
        pytest.param(
            {"triggers": [{**CRON, "metadata": {**CRON["metadata"], "start": "61 8 * * *"}}]},
            "error: spec.triggers[0].metadata.start: error parsing cron metadata: error parsing start schedule: start: "
            "'61 8 * * *' is not a cron expression: minute '61' is outside of 0-59",
            id="schedule",
        ),
        pytest.param(
            {"triggers": [{**CPU, "metadata": {"value": "lots"}}], "minReplicaCount": 1, "scaleTargetRef": {"name": "a", "kind": "X", "apiVersion": "v1"}},
            'error: spec.triggers[0].metadata.value: error parsing cpu metadata: strconv.ParseInt: parsing "lots": invalid '
            "syntax; value: write a whole percentage, such as 60",
            id="quantity",
        ),
        pytest.param(
            {"triggers": [{**CRON, "metricType": "Utilization"}]},
            "error: spec.triggers[0].metricType: error getting scaler metric type: 'Utilization' metric type is unsupported "
            "for external metrics, allowed values are 'Value' or 'AverageValue'",
            id="metric type",
        ),
        pytest.param(
            {"triggers": [{**CPU, "metadata": {"value": 60}}]},
            'error: spec.triggers[0].metadata.value: Invalid value: "integer": spec.triggers[0].metadata.value in body must '
            'be of type string: "integer"; put the value in quotes',
            id="number without quotes",
        ),
        pytest.param(
            {"minReplicas": 2},
            'error: spec.minReplicas: unknown field; did you mean "minReplicaCount"?',
            id="unknown field",
        ),
        pytest.param(
            {"maxReplicaCount": 0},
            "error: spec.maxReplicaCount: Invalid value: 0: spec.maxReplicaCount in body should be greater than or equal to 1",
            id="bounds of the schema",
        ),
        pytest.param(
            {"minReplicaCount": 101},
            "error: spec: Invalid value: minReplicaCount must be less than or equal to maxReplicaCount",
            id="rule of the schema",
        ),
        pytest.param(
            {"triggers": [CPU], "minReplicaCount": 1},
            "warning: spec.scaleTargetRef.name: apps/v1.Deployment 'web' is not in these files: its containers need cpu or "
            "memory requests for the cpu or memory triggers to work",
            id="target elsewhere",
        ),
    ],
)  # fmt: skip
async def test_each_fault_is_named_with_its_remedy(change: dict[str, Any], expected: str) -> None:
    assert await sentences(scheduled(**change)) == [expected]


async def test_a_broken_formula_is_said_once_and_shown() -> None:
    modifiers = {"formula": "jobs +* 2", "target": "4"}
    trigger = {**REDIS, "name": "jobs"}
    [problem] = await found(
        scheduled(triggers=[trigger, trigger | {"name": "b"}], advanced={"scalingModifiers": modifiers})
    )
    assert problem.field == "spec.advanced.scalingModifiers.formula"
    assert "\n | jobs +* 2\n | ......^" in problem.message


async def test_of_two_objects_on_one_workload_the_later_is_told() -> None:
    first, second = scheduled("web"), scheduled("other", scaleTargetRef={"name": "web"})
    [problem] = await found(first, second)
    assert problem.object == "ScaledObject other"
    assert "is already managed by the ScaledObject 'web'" in problem.message


async def test_namespaces_are_kept_apart_and_default_is_one() -> None:
    assert await found(scheduled(namespace="a"), scheduled("x", "b", scaleTargetRef={"name": "web"})) == []
    assert len(await found(scheduled(), scheduled("x", "default", scaleTargetRef={"name": "web"}))) == 1


async def test_requests_are_looked_up_in_the_same_files() -> None:
    [problem] = await found(requesting(), scheduled(minReplicaCount=1, triggers=[CPU]))
    assert problem.message == (
        "the scaledobject has a cpu trigger but the container app doesn't have the cpu request defined"
    )
    defaults = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": defaults}
    assert await found(limits, requesting(), scheduled(minReplicaCount=1, triggers=[CPU])) == []


async def test_what_an_authentication_gives_is_not_missing() -> None:
    trigger = {"type": "redis", "metadata": {"listName": "jobs"}, "authenticationRef": {"name": "auth"}}
    assert await found(scheduled(triggers=[trigger]), of_creds("address")) == []
    assert await found(scheduled(triggers=[trigger])) == []  # it may be in the cluster
    del trigger["authenticationRef"]
    [problem] = await found(scheduled(triggers=[trigger]))
    assert (problem.severity, problem.line) == ("error", 10)


async def test_a_secret_without_the_key_is_told() -> None:
    assert await found(of_creds("address"), creds("address")) == []
    [problem] = await found(of_creds("address"), creds("addr", "b"))
    assert (problem.severity, problem.field) == ("warning", "spec.secretTargetRef[0].key")
    assert problem.message.endswith('Secret "creds" has no key "address"; it has: addr, b')


async def test_what_comes_from_the_environment_is_not_missing() -> None:
    trigger = {"type": "redis", "metadata": {"listName": "jobs", "addressFromEnv": "REDIS"}}
    assert await found(scheduled(triggers=[trigger])) == []


async def test_a_null_is_a_field_that_is_not_there() -> None:
    obj = scheduled(pollingInterval=None)
    obj["metadata"]["creationTimestamp"] = None
    assert await found(obj) == []


async def test_the_api_version_of_keda_1_is_told_the_new_one() -> None:
    [sentence] = await sentences(scheduled() | {"apiVersion": "keda.k8s.io/v1alpha1"})
    assert sentence == 'error: apiVersion: "keda.k8s.io/v1alpha1" has no ScaledObject; use "keda.sh/v1alpha1"'


async def test_other_peoples_objects_are_not_judged() -> None:
    assert (
        await found(
            {"apiVersion": "v1", "kind": "Deployment", "spec": 3}, {"apiVersion": "a/v1", "kind": "ScaledObject"}
        )
        == []
    )


async def test_a_scaled_job_is_told_that_it_has_no_metric_type() -> None:
    job = scaled_job({**CRON, "metricType": "Value"})
    assert (
        "error: spec.triggers[0].metricType: Cannot set metricType in ScaledJob triggers; remove it"
        in await sentences(job)
    )


async def test_what_stands_before_an_unreadable_place_is_still_checked() -> None:
    text = yaml.safe_dump(scheduled(minReplicaCount=2, idleReplicaCount=2)) + "---\na: [\n"
    report = await validate_texts({"m.yaml": text})
    assert [problem.line for problem in report.problems] == [6, 19]
    assert report.objects == 1


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
async def test_a_replica_count_that_a_scaled_object_owns_is_told_where_it_is_written(kind: str) -> None:
    workload = requesting(cpu="1") | {"kind": kind}
    workload["spec"] = {"replicas": 3} | workload["spec"]
    owner = scheduled("nights", scaleTargetRef={"name": "web", "kind": kind})
    [problem] = await found(workload, owner)
    assert (problem.severity, problem.line, problem.object) == ("warning", 6, f"{kind} web")
    assert problem.message == (
        'spec.replicas: ScaledObject "nights" sets this count; each apply would set it back: remove the line'
    )


async def test_the_count_of_a_custom_resource_is_owned_too() -> None:
    fleet = {"apiVersion": "example.com/v1", "kind": "Fleet", "metadata": {"name": "web"}, "spec": {"replicas": 0}}
    target = {"name": "web", "apiVersion": "example.com/v1", "kind": "Fleet"}
    [sentence] = await sentences(fleet, scheduled(scaleTargetRef=target))
    assert sentence.startswith('warning: spec.replicas: ScaledObject "web" sets this count')


@pytest.mark.parametrize("owner", [scheduled("other"), scheduled(namespace="shop")])
async def test_a_replica_count_that_nobody_else_sets_is_nobodys_business(owner: dict[str, Any]) -> None:
    workload = requesting(cpu="1")
    workload["spec"]["replicas"] = 3
    assert await found(workload, owner) == []


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("scaledobject", 'did you mean "ScaledObject"?'),
        ("ScaleObject", 'did you mean "ScaledObject"?'),
        ("Deployment", "its kinds are ScaledObject, ScaledJob"),
    ],
)
async def test_a_kind_that_the_group_does_not_have_is_told_with_what_was_meant(kind: str, remedy: str) -> None:
    [problem] = await found(scheduled() | {"kind": kind})
    assert problem.message.startswith(f'kind: "keda.sh/v1alpha1" has no {kind}; {remedy}')
    assert (problem.severity, problem.line) == ("error", 2)


async def test_other_peoples_groups_are_their_own() -> None:
    assert (
        await found({"apiVersion": "http.keda.sh/v1alpha1", "kind": "HTTPScaledObject", "metadata": {"name": "a"}})
        == []
    )


async def test_a_country_that_is_unknown_is_an_error_before_anything_is_applied() -> None:
    hours = [{"from": "08:00", "to": "18:00"}]
    spec = {"timeZone": "UTC", "hours": hours, "holidays": [{"country": "Czechia"}]}
    calendar = builders.obj("keda-py.dev/v1alpha1", "Calendar", "office", spec=spec)
    (sentence,) = await sentences(calendar)
    assert sentence.startswith("error: spec.holidays[0].country: 'Czechia' is unknown; write a code of ISO 3166")
