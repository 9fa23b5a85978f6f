"""Every check of a ScaledObject: what KEDA denies, in its words and under its label, and what it lets pass."""

from typing import Any

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange
from keda_py.core.admission.findings import AdmissionWarning, Denial, Neighbourhood, Rival, rival_of
from keda_py.core.admission.scaled_object import check_scaled_object
from keda_py.core.spec import build_spec

REDIS = {"type": "redis", "metadata": {"listName": "jobs"}}
CPU = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}
MEMORY = {"type": "memory", "metricType": "Utilization", "metadata": {"value": "60"}}
FALLBACK = {"failureThreshold": 3, "replicas": 6}
NOBODY = Neighbourhood()
TRANSFER = "scaledobject.keda.sh/transfer-hpa-ownership"
WEB = "the workload 'web' of type 'apps/v1.Deployment'"


def parsed(name: str = "so", annotations: dict[str, str] | None = None, **spec: Any) -> ScaledObject:
    meta = {"name": name, "namespace": "shop", "annotations": annotations or {}}
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [REDIS], **spec}
    return ScaledObject.model_validate({"metadata": meta, "spec": body})


def rival(name: str, **spec: Any) -> Rival:
    return rival_of(build_spec(parsed(name, **spec)))


def parsed_hpa(
    name: str = "old", owner: str = "", annotations: dict[str, str] | None = None, **target: str
) -> HorizontalPodAutoscaler:
    owners = [{"kind": "ScaledObject", "name": owner}] if owner else []
    meta = {"name": name, "ownerReferences": owners, "annotations": annotations or {}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **target}
    return HorizontalPodAutoscaler.model_validate({"metadata": meta, "spec": {"scaleTargetRef": reference}})


def parsed_container(name: str = "app", **resources: Any) -> Container:
    return Container.model_validate({"name": name, "resources": resources})


def limit_range(kind: str = "Container", **defaults: Any) -> LimitRange:
    return LimitRange.model_validate({"metadata": {"name": "l"}, "spec": {"limits": [{"type": kind, **defaults}]}})


def named(hpa_name: str) -> dict[str, Any]:
    return {"horizontalPodAutoscalerConfig": {"name": hpa_name}}


def modifiers(**fields: str) -> dict[str, Any]:
    return {"scalingModifiers": fields}


def findings(obj: ScaledObject, around: Neighbourhood = NOBODY, *, dry_run: bool = False) -> list[Any]:
    return list(check_scaled_object(obj, build_spec(obj), around, dry_run=dry_run))


def denials(obj: ScaledObject, around: Neighbourhood = NOBODY, *, dry_run: bool = False) -> list[tuple[str, str]]:
    found = findings(obj, around, dry_run=dry_run)
    return [(one.reason, one.message) for one in found if isinstance(one, Denial)]


DENIED = [
    pytest.param(
        parsed("n" * 64, advanced=named("short")),
        "name-too-long",
        f'scaledobject name "{"n" * 64}" is 64 characters long; must be no more than 63 characters because it is used '
        'as the "scaledobject.keda.sh/name" label value',
        id="name",
    ),
    pytest.param(
        parsed("n" * 55),
        "hpa-name-too-long",
        f'HPA name "keda-hpa-{"n" * 55}" derived from scaledobject is 64 characters long; must be no more than 63 '
        "characters; set spec.advanced.horizontalPodAutoscalerConfig.name to a shorter name or shorten the scaledobject "
        "name",
        id="HPA name",
    ),
    pytest.param(
        parsed(triggers=[{**CPU, "useCachedMetrics": True}, REDIS]),
        "incorrect-triggers",
        'property "useCachedMetrics" is not supported for "cpu" scaler',
        id="cached cpu",
    ),
    pytest.param(
        parsed(triggers=[{**REDIS, "name": "x"}, {**REDIS, "name": "x"}]),
        "incorrect-triggers",
        'triggerName "x" is defined multiple times in the ScaledObject/ScaledJob, but it must be unique',
        id="trigger name twice",
    ),
    pytest.param(
        parsed(idleReplicaCount=3, minReplicaCount=2),
        "incorrect-replicas",
        "IdleReplicaCount=3 must be less than MinReplicaCount=2",
        id="idle",
    ),
    pytest.param(
        parsed(minReplicaCount=5, maxReplicaCount=3),
        "incorrect-replicas",
        "MinReplicaCount=5 must be less than MaxReplicaCount=3",
        id="min above max",
    ),
    pytest.param(
        parsed(advanced=modifiers(target="2")),
        "scaling-modifiers",
        "error ScalingModifiers.Formula is mandatory",
        id="no formula",
    ),
    pytest.param(
        parsed(advanced=modifiers(formula="1")),
        "scaling-modifiers",
        "error validating formula in ScalingModifiers\nformula is given but target is empty",
        id="no target",
    ),
    pytest.param(
        parsed(advanced=modifiers(formula="1", target="0")),
        "scaling-modifiers",
        "error validating target in ScalingModifiers\nerror converting target for scalingModifiers (string->float) to "
        'valid target: "0" is not a number above 0; write for example "5"',
        id="target 0",
    ),
    pytest.param(
        parsed(fallback={**FALLBACK, "behavior": "scalingModifiers"}),
        "scaling-modifiers-fallback",
        "scalingModifiers fallback behavior requires scalingModifiers.formula to be defined",
        id="fallback without formula",
    ),
    pytest.param(
        parsed(triggers=[MEMORY], minReplicaCount=1, fallback=FALLBACK),
        "incorrect-fallback",
        "at least one trigger (that is not cpu or memory) has to have the `AverageValue` type for the fallback to be "
        "enabled",
        id="fallback of memory",
    ),
    pytest.param(
        parsed(triggers=[CPU, MEMORY]),
        "scale-to-zero-requirements-not-met",
        "scaledobject has only cpu/memory triggers AND minReplica is 0 (scale to zero doesn't work in this case)",
        id="cpu to zero",
    ),
]


@pytest.mark.parametrize(("obj", "reason", "message"), DENIED)
def test_a_scaled_object_is_denied_in_kedas_words(obj: ScaledObject, reason: str, message: str) -> None:
    assert denials(obj) == [(reason, message)]


def test_a_plain_scaled_object_passes_without_a_word() -> None:
    assert findings(parsed(minReplicaCount=0, idleReplicaCount=0)) == []


def test_a_formula_over_an_unnamed_trigger_is_denied_with_its_place() -> None:
    [(reason, message)] = denials(parsed(advanced=modifiers(formula="1 + jobs", target="2")))
    assert reason == "scaling-modifiers"
    assert message.startswith("error validating formula in ScalingModifiers\nunknown name jobs")
    assert "\n | 1 + jobs\n | ....^" in message


def test_what_keda_looks_at_after_admission_is_a_warning() -> None:
    named_trigger = {**REDIS, "name": "jobs"}
    advanced = modifiers(formula="jobs", target="2", activationTarget="some")
    [found] = findings(parsed(triggers=[named_trigger], advanced=advanced))
    assert isinstance(found, AdmissionWarning)
    assert found.field == "spec.advanced.scalingModifiers.activationTarget"


def test_one_workload_has_one_scaled_object() -> None:
    around = Neighbourhood(rivals=[rival("other"), rival("third")])
    words = f"{WEB} is already managed by the ScaledObject 'other'"
    assert denials(parsed(), around) == [("other-scaled-object", words)]


@pytest.mark.parametrize("target", [{"kind": "StatefulSet", "name": "web"}, {"name": "api"}])
def test_another_kind_or_name_is_another_workload(target: dict[str, str]) -> None:
    assert denials(parsed(), Neighbourhood(rivals=[rival("other", scaleTargetRef=target)])) == []


def test_a_scaled_object_does_not_collide_with_what_it_was() -> None:
    around = Neighbourhood(rivals=[rival("so")], hpas=[parsed_hpa("keda-hpa-so", owner="so")])
    assert denials(parsed(maxReplicaCount=3), around) == []


def test_one_hpa_has_one_scaled_object() -> None:
    other = rival("other", scaleTargetRef={"name": "api"}, advanced=named("shared"))
    around = Neighbourhood(rivals=[other])
    words = "the HPA 'shared' is already managed by the ScaledObject 'other'"
    assert denials(parsed(advanced=named("shared")), around) == [("other-scaled-object-hpa", words)]


def test_a_foreign_hpa_of_our_own_name_is_taken_over_only_by_writing_its_name() -> None:
    around = Neighbourhood(hpas=[parsed_hpa("keda-hpa-so")])
    unnamed = parsed(annotations={TRANSFER: "true"})
    assert [reason for reason, _ in denials(unnamed, around)] == ["transfer-ownership-missing-hpa-name"]
    assert denials(parsed(annotations={TRANSFER: "true"}, advanced=named("keda-hpa-so")), around) == []


@pytest.mark.parametrize(
    ("annotations", "advanced", "expected"),
    [
        pytest.param({}, None, [("other-hpa", f"{WEB} is already managed by the hpa 'old'")], id="no transfer"),
        pytest.param(
            {TRANSFER: "True"},
            named("old"),
            [("other-hpa", f"{WEB} is already managed by the hpa 'old'")],
            id="not exactly true",
        ),
        pytest.param(
            {TRANSFER: "true"},
            None,
            [
                (
                    "transfer-ownership-missing-hpa-name",
                    "the existing hpa 'old' for workload 'web' of type 'apps/v1.Deployment' must be specified by name in "
                    "advanced settings to enable ownership transfer",
                )
            ],
            id="unnamed",
        ),
        pytest.param({TRANSFER: "true"}, named("old"), [], id="transfer"),
    ],
)
def test_a_foreign_hpa_is_taken_over_only_on_request(
    annotations: dict[str, str], advanced: dict[str, Any] | None, expected: list[tuple[str, str]]
) -> None:
    obj = parsed(annotations=annotations, **({"advanced": advanced} if advanced else {}))
    assert denials(obj, Neighbourhood(hpas=[parsed_hpa("old")])) == expected


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(parsed_hpa(annotations={"validations.keda.sh/hpa-ownership": "false"}), id="exempt"),
        pytest.param(parsed_hpa(name="api-hpa", kind="StatefulSet"), id="another kind"),
        pytest.param(parsed_hpa(owner="so"), id="ours"),
    ],
)
def test_an_hpa_that_does_not_collide_is_left_alone(foreign: HorizontalPodAutoscaler) -> None:
    assert denials(parsed(), Neighbourhood(hpas=[foreign])) == []


NO_CPU = "the scaledobject has a cpu trigger but the container app doesn't have the cpu request defined"


@pytest.mark.parametrize(
    ("containers", "limits", "expected"),
    [
        pytest.param([parsed_container()], [], [("missing-requests", NO_CPU)], id="nothing"),
        pytest.param([parsed_container(requests={"cpu": "0"})], [], [("missing-requests", NO_CPU)], id="zero"),
        pytest.param([parsed_container(requests={"memory": "1Gi"})], [], [("missing-requests", NO_CPU)], id="memory only"),
        pytest.param([parsed_container(requests={"cpu": "lots"})], [], [("missing-requests", NO_CPU)], id="no quantity"),
        pytest.param([parsed_container(requests={"cpu": "1m"})], [], [], id="request"),
        pytest.param([parsed_container(requests={"cpu": 1})], [], [], id="number"),
        pytest.param([parsed_container(limits={"cpu": "1"})], [], [], id="limit"),
        pytest.param([parsed_container()], [limit_range(defaultRequest={"cpu": "1m"})], [], id="LimitRange request"),
        pytest.param([parsed_container()], [limit_range(default={"cpu": "1m"})], [], id="LimitRange limit"),
        pytest.param([parsed_container()], [limit_range("Pod", default={"cpu": "1"})], [("missing-requests", NO_CPU)], id="LimitRange of pods"),
        pytest.param([parsed_container()], None, [], id="LimitRanges not known"),
    ],
)  # fmt: skip
def test_a_cpu_trigger_needs_requests(
    containers: list[Container], limits: list[LimitRange] | None, expected: list[tuple[str, str]]
) -> None:
    obj = parsed(triggers=[CPU, REDIS])
    assert denials(obj, Neighbourhood(containers=containers, limit_ranges=limits)) == expected


def test_only_the_named_container_needs_requests() -> None:
    one = {**CPU, "metadata": {"value": "60", "containerName": "app"}}
    containers = [parsed_container("sidecar"), parsed_container(requests={"cpu": "1"})]
    assert denials(parsed(triggers=[one, REDIS]), Neighbourhood(containers=containers)) == []


def test_a_dry_run_says_nothing_of_requests() -> None:
    assert findings(parsed(triggers=[CPU]), Neighbourhood(containers=[parsed_container()]), dry_run=True) == []


def test_a_target_that_is_not_there_yet_is_a_warning() -> None:
    [found] = findings(parsed(triggers=[CPU, REDIS]))
    assert isinstance(found, AdmissionWarning)
    assert found.message.startswith("apps/v1.Deployment 'web' does not exist yet")


def test_only_deployments_and_stateful_sets_are_looked_into() -> None:
    assert findings(parsed(triggers=[CPU], scaleTargetRef={"name": "web", "kind": "ReplicaSet"})) == []


POLLING, COOLDOWN = "spec.pollingInterval", "spec.cooldownPeriod"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"minReplicaCount": 1}, [POLLING, COOLDOWN], id="always on"),
        pytest.param({"minReplicaCount": 2, "idleReplicaCount": 1}, [], id="idles above zero"),
        pytest.param({"minReplicaCount": 2, "idleReplicaCount": 0}, [], id="idles at zero"),
        pytest.param({"minReplicaCount": 0}, [], id="goes to zero"),
        pytest.param({}, [], id="goes to zero by default"),
        pytest.param(
            {"minReplicaCount": 1, "triggers": [{**REDIS, "useCachedMetrics": True}]}, [COOLDOWN], id="cached metrics"
        ),
    ],
)
def test_settings_without_effect_are_told(fields: dict[str, Any], expected: list[str]) -> None:
    found = findings(parsed(pollingInterval=10, cooldownPeriod=60, **fields))
    assert [(one.field, one.recorded) for one in found] == [(field, True) for field in expected]
