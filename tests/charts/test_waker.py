"""The waker that charts/keda-py installs: off unless asked for, few rights, and a policy that confines them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from keda_py.core.waking.rules import REQUEST_ANNOTATION
from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.localkube.access.identity import service_account
from keda_py.schema.cel import compile_rule
from keda_py.serving.wake_endpoint import METHODS, PATH
from keda_py.settings.waker import load_waker_settings
from tests.charts.rendering import Obj, only, render
from tests.charts.rights import given, noted
from tests.servers import LOOPBACK
from tests.waiting import eventually
from tests.waker.lab import NAMESPACE, open_lab

ON = {"waker": {"enabled": True}}
OPERATOR = "system:serviceaccount:keda:keda-operator"
WAKER = "system:serviceaccount:keda:keda-waker"


def test_nothing_of_it_is_there_unless_asked_for() -> None:
    assert [one for one in render() if one["kind"] != "CustomResourceDefinition" and "waker" in str(one)] == []


def test_the_container_starts_with_its_flags_and_knows_the_operator_by_the_authority_alone() -> None:
    deployment = only(render(**ON), "Deployment", "keda-waker", "keda")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    command, *flags = container["args"]
    assert command == "waker"
    values = {name: [value] for name, _, value in (flag.removeprefix("--").partition("=") for flag in flags)}
    settings = load_waker_settings(values, {})
    service = only(render(**ON), "Service", "keda-operator-metrics-apiserver", "keda")
    assert settings.cluster.operator_url == f"https://{service['metadata']['name']}.keda.svc:443"
    [volume] = [one for one in deployment["spec"]["template"]["spec"]["volumes"] if "secret" in one]
    assert volume["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    assert not settings.cluster.patch_slices


def test_a_pod_has_time_to_serve_what_waits_before_it_is_killed() -> None:
    deployment = only(render(waker={"enabled": True, "drainPeriodSeconds": 300}), "Deployment", "keda-waker", "keda")
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 310


def test_the_operator_finds_the_wakers_and_its_own_service_and_budget_do_not() -> None:
    objects = render(**ON, podDisruptionBudget={"operator": {"minAvailable": 1}})
    labels = only(objects, "Deployment", "keda-waker", "keda")["spec"]["template"]["metadata"]["labels"]
    selecting = {
        one["metadata"]["name"]
        for one in objects
        if one["kind"] == "Service" and one["spec"]["selector"].items() <= labels.items()
    }
    assert selecting == {"keda-waker"}
    budget = only(objects, "PodDisruptionBudget", "keda-operator", "keda")
    assert not budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    [operator] = only(objects, "Deployment", "keda-operator", "keda")["spec"]["template"]["spec"]["containers"]
    assert "--waker-service=keda-waker" in operator["args"]


def test_prometheus_finds_its_pods_beside_the_operators() -> None:
    monitors = {"operator": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}}
    objects = render(**ON, prometheus=monitors)
    pod = only(objects, "Deployment", "keda-waker", "keda")["spec"]["template"]
    for kind in ("ServiceMonitor", "PodMonitor"):
        selector = only(objects, kind, "keda-waker", "keda")["spec"]["selector"]["matchLabels"]
        assert selector.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("values", "verbs"), [({}, {"list", "watch"}), ({"patchSlices": True}, {"list", "watch", "patch"})]
)
def test_it_reads_slices_and_nothing_else(values: Obj, verbs: set[str]) -> None:
    objects = render(waker={"enabled": True, **values})
    rules = only(objects, "ClusterRole", "keda-waker")["rules"]
    found = {(resource, verb) for rule in rules for resource in rule.get("resources", ()) for verb in rule["verbs"]}
    assert found == {("endpointslices", verb) for verb in verbs}


def test_the_right_to_patch_slices_comes_with_the_flag_that_uses_it() -> None:
    deployment = only(render(waker={"enabled": True, "patchSlices": True}), "Deployment", "keda-waker", "keda")
    assert "--patch-slices=true" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_in_watched_namespaces_it_has_a_role_each_and_none_for_the_cluster() -> None:
    objects = render(**ON, watchNamespace="shop,bank")
    assert [rule for rule in only(objects, "ClusterRole", "keda-waker")["rules"] if "resources" in rule] == []
    for namespace in ("shop", "bank"):
        only(objects, "Role", "keda-waker", namespace)


@pytest.mark.parametrize("patches", [False, True])
async def test_with_its_rights_alone_it_holds_and_asks(tmp_path: Path, patches: bool) -> None:
    objects = render(waker={"enabled": True, "patchSlices": patches})
    roles = [
        one for one in objects if one["kind"].startswith("ClusterRole") and one["metadata"]["name"] == "keda-waker"
    ]
    account = service_account("keda", "keda-waker")
    with noted(account.name) as used:
        async with open_lab(tmp_path, user=account, roles=roles, patch_slices=str(patches)) as lab:
            lab.status = 503 if patches else 202
            [port] = await lab.sleep()
            async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
                page = await client.get(f"http://{LOOPBACK}:{port}/", headers={"Sec-Fetch-Mode": "navigate"})
                assert "is waking up" in page.text
                ready = await client.get(f"http://{LOOPBACK}:{lab.health_port}/readyz")
                assert ready.status_code == 200
            path = ENDPOINT_SLICES.named(NAMESPACE, "web-keda-py-waker")

            async def is_asked() -> bool:
                annotations = (await lab.client.get(path))["metadata"]["annotations"]
                return REQUEST_ANNOTATION in annotations if patches else bool(lab.calls)

            await eventually(is_asked)
    assert {(right.resource, right.verb) for right in used} == {
        (right.resource, right.verb) for right in given(roles, "keda-waker")
    }


def a_slice(**changes: Any) -> Obj:
    labels = {
        "keda-py.dev/waker": "yes",
        "endpointslice.kubernetes.io/managed-by": "keda-py.dev",
        "kubernetes.io/service-name": "web",
    }
    target = {"kind": "Pod", "namespace": "keda", "name": "keda-waker-5f6-x"}
    made: Obj = {
        "metadata": {"name": "web-keda-py-waker", "labels": labels, "annotations": {"keda-py.dev/waker": "{}"}},
        "endpoints": [{"addresses": ["10.0.0.1"], "targetRef": target}],
        "ports": [{"name": "", "port": 20000}],
    }
    for place, value in changes.items():
        *way, last = place.split("__")
        inner = made
        for part in way:
            inner = inner[int(part)] if part.isdecimal() else inner[part]
        inner[last] = value
    return made


def without(field: str) -> Obj:
    made = a_slice()
    return {**made, "metadata": {key: value for key, value in made["metadata"].items() if key != field}}


def allowed(policy: str, user: str, operation: str, new: Obj | None, old: Obj | None) -> bool:
    """Whether the chart's policy lets a write pass, by this project's reading of CEL."""
    spec = only(render(**ON), "ValidatingAdmissionPolicy", policy)["spec"]
    seen: Obj = {
        "request": {"operation": operation, "userInfo": {"username": user, "groups": ["system:authenticated"]}},
        "object": new,
        "oldObject": old,
        "variables": {},
    }
    if not all(compile_rule(one["expression"])(seen) is True for one in spec["matchConditions"]):
        return True
    for one in spec.get("variables", ()):
        seen["variables"][one["name"]] = compile_rule(one["expression"])(seen)
    return all(compile_rule(one["expression"])(seen) is True for one in spec["validations"])


NODE = {"metadata": {"name": "web-abc", "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": [], "ports": []}
ASKED = {"keda-py.dev/waker": "{}", "keda-py.dev/wake-request": "{}"}


@pytest.mark.parametrize(
    ("user", "operation", "new", "old", "expected"),
    [
        pytest.param(OPERATOR, "CREATE", a_slice(), None, True, id="its own slice"),
        pytest.param(OPERATOR, "CREATE", a_slice(endpoints=[]), None, True, id="ports proposed"),
        pytest.param(OPERATOR, "UPDATE", a_slice(), a_slice(endpoints=[]), True, id="wakers put in"),
        pytest.param(OPERATOR, "DELETE", None, a_slice(), True, id="deleted after the wake"),
        pytest.param(OPERATOR, "CREATE", NODE, None, False, id="a slice without our labels"),
        pytest.param(OPERATOR, "UPDATE", a_slice(), NODE, False, id="a foreign slice taken over"),
        pytest.param(OPERATOR, "DELETE", None, NODE, False, id="a foreign slice deleted"),
        pytest.param(
            OPERATOR,
            "CREATE",
            a_slice(endpoints__0__targetRef__name="shop-1"),
            None,
            False,
            id="traffic to another pod",
        ),
        pytest.param(
            OPERATOR,
            "CREATE",
            a_slice(endpoints=[{"addresses": ["10.0.0.9"]}]),
            None,
            False,
            id="traffic to an address",
        ),
        pytest.param(
            OPERATOR,
            "UPDATE",
            a_slice(),
            a_slice(metadata__labels={**a_slice()["metadata"]["labels"], "kubernetes.io/service-name": "bank"}),
            False,
            id="moved to another Service",
        ),
        pytest.param(WAKER, "UPDATE", a_slice(metadata__annotations=ASKED), a_slice(), True, id="a wake asked for"),
        pytest.param(WAKER, "CREATE", a_slice(), None, False, id="a waker creates"),
        pytest.param(WAKER, "UPDATE", a_slice(endpoints=[]), a_slice(), False, id="a waker changes endpoints"),
        pytest.param(
            WAKER, "UPDATE", a_slice(metadata__annotations={"keda-py.dev/waker": "x"}), a_slice(), False, id="its rules"
        ),
        pytest.param(WAKER, "UPDATE", without("annotations"), a_slice(), False, id="its rules taken off"),
        pytest.param(
            WAKER, "UPDATE", a_slice(metadata__finalizers=["a.example/stay"]), a_slice(), False, id="made undeletable"
        ),
        pytest.param(
            WAKER, "UPDATE", a_slice(), a_slice(metadata__ownerReferences=[{"uid": "night"}]), False, id="its owner"
        ),
        pytest.param(
            WAKER,
            "UPDATE",
            a_slice(metadata__annotations=ASKED, metadata__ownerReferences=[{"uid": "night"}]),
            a_slice(metadata__ownerReferences=[{"uid": "night"}]),
            True,
            id="a wake asked for in a slice with an owner",
        ),
        pytest.param("system:serviceaccount:shop:a", "CREATE", NODE, None, True, id="any other user's slices"),
    ],
)
def test_operator_and_waker_write_slices_that_lead_to_wakers_and_no_others(
    user: str, operation: str, new: Obj | None, old: Obj | None, expected: bool
) -> None:
    assert allowed("keda-waker-own-slices", user, operation, new, old) is expected


def test_a_waker_may_ask_at_the_operators_endpoint_by_its_methods_and_at_no_other_path() -> None:
    roles = [one for one in render(**ON) if one["kind"] == "ClusterRole" and "waker" in one["metadata"]["name"]]
    paths = [rule for role in roles for rule in role["rules"] if "nonResourceURLs" in rule]
    assert [(rule["nonResourceURLs"], sorted(rule["verbs"])) for rule in paths] == [
        ([PATH], sorted(method.lower() for method in METHODS))
    ]


TENANT = "system:serviceaccount:shop:a"
WOKEN: Obj = {"metadata": {"name": "request-dev"}, "spec": {}, "status": {"request": "web from 10.9.9.9"}}
BEFORE: Obj = {"metadata": {"name": "request-dev"}, "spec": {}, "status": {"phase": "Active"}}


@pytest.mark.parametrize(
    ("user", "new", "old", "expected"),
    [
        pytest.param(OPERATOR, WOKEN, BEFORE, True, id="the operator's words"),
        pytest.param(TENANT, WOKEN, BEFORE, False, id="a tenant's words"),
        pytest.param(TENANT, WOKEN, {"metadata": {}, "spec": {}}, False, id="in the first status"),
        pytest.param(TENANT, BEFORE, WOKEN, False, id="words taken off"),
        pytest.param(TENANT, {"metadata": {}, "spec": {}}, WOKEN, False, id="a status taken off"),
        pytest.param(
            TENANT,
            WOKEN | {"status": {"request": "web from 10.9.9.9", "phase": "Active"}},
            WOKEN,
            True,
            id="words left as they are",
        ),
        pytest.param(TENANT, BEFORE, BEFORE, True, id="another field"),
    ],
)
def test_no_tenant_says_in_a_status_that_a_request_asked_for_an_override(
    user: str, new: Obj, old: Obj, expected: bool
) -> None:
    assert allowed("keda-waker-words", user, "UPDATE", new, old) is expected


@pytest.mark.parametrize(("user", "expected"), [(OPERATOR, True), (WAKER, True), (TENANT, False)])
def test_no_tenant_writes_a_slice_that_wakers_would_follow(user: str, expected: bool) -> None:
    assert allowed("keda-waker-label", user, "CREATE", a_slice(), None) is expected
