"""`keda-py doctor` on HPAs, owners, budgets, webhooks and quotas that fight with sleep or refuse to let members wake."""

from typing import Any

import pytest
import yaml

from keda_py.doctor.diagnosis import Diagnosis
from tests import builders
from tests.builders import obj
from tests.doctor.objects import environment, found, web


def only(*bodies: Any) -> Diagnosis:
    (one,) = found(*bodies)
    return one


def test_an_hpa_that_goes_to_zero_over_a_member_fights() -> None:
    one = only(environment("web"), web(), builders.hpa("web", "web", "shop", minReplicas=0))
    assert (one.urgency, one.object) == ("fights", "HorizontalPodAutoscaler shop/web")
    assert yaml.safe_load(one.lines) == {"spec": {"minReplicas": 1}}


def test_an_hpa_with_a_minimum_is_held_by_the_zero_of_its_workload() -> None:
    assert found(environment("web"), web(), builders.hpa("web", "web", "shop", minReplicas=1)) == ()


def test_an_hpa_beside_that_of_a_scaled_object_fights() -> None:
    scaled = builders.bare_scaled_object(name="web", namespace="shop")
    one = only(scaled, web(), builders.hpa("mine", "web", "shop", minReplicas=1))
    assert one.message == "scales the workload of ScaledObject web, which has an HPA of its own"
    assert one.remedy.startswith("kubectl delete hpa mine -n shop")


def test_a_member_that_another_controller_owns_is_named_with_it() -> None:
    owner = {"apiVersion": "acme.io/v1", "kind": "Shop", "name": "shop", "uid": "u", "controller": True}
    one = only(environment(), web(3, ownerReferences=[owner, {"kind": "Note", "name": "n"}]))
    assert "owned by the controller of Shop shop/shop" in one.message
    assert yaml.safe_load(one.lines) == {"metadata": {"annotations": {"keda-py.dev/exclude": "true"}}}


def test_a_contested_member_is_told_with_who_puts_it_back() -> None:
    contested = environment("web")
    contested["status"]["members"]["Deployment/web"] |= {"stage": "Contested", "by": "acme-operator", "putBacks": 2}
    one = only(contested, web(3))
    assert one.message == "acme-operator put its count back 2 times, so it stays awake"


def budget(selector: Any = None, *, expected: int | None = None, **spec: Any) -> Any:
    chosen = {"matchLabels": {"app": "web"}} if selector is None else selector
    built = obj("policy/v1", "PodDisruptionBudget", "web", "shop", spec={"selector": chosen, **spec})
    return built if expected is None else built | {"status": {"expectedPods": expected}}


@pytest.mark.parametrize(
    "blocking",
    [
        budget(maxUnavailable=0),
        budget(maxUnavailable="0%"),
        budget(minAvailable=3),
        budget(minAvailable="100%"),
        budget(minAvailable="67%"),
        budget({}, maxUnavailable=0),
    ],
)
def test_a_budget_that_allows_no_eviction_of_awake_members_is_told_also_while_they_sleep(blocking: Any) -> None:
    one = only(environment("web"), web(), blocking)
    assert one.object == "PodDisruptionBudget shop/web"
    assert "allows no eviction of its 3 pods" in one.message
    assert yaml.safe_load(one.lines)["spec"]["maxUnavailable"] == 1


@pytest.mark.parametrize(
    "allowing",
    [
        budget(maxUnavailable=1),
        budget(maxUnavailable="1%"),
        budget(minAvailable=2),
        budget(minAvailable="66%"),
        budget(minAvailable=3, expected=2),
        budget({"matchLabels": {"app": "api"}}, maxUnavailable=0),
        budget(minAvailable="odd"),
        budget(maxUnavailable="9" * 5000 + "%"),
    ],
    ids=["one", "a percent is one", "two of three", "66 %", "two pods of others", "of others", "odd", "long"],
)
def test_a_budget_that_allows_an_eviction_is_left_alone(allowing: Any) -> None:
    assert found(environment("web"), web(), allowing) == ()


PODS = {"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}


def webhook(rule: Any = None, *, kind: str = "ValidatingWebhookConfiguration", **fields: Any) -> Any:
    one = {
        "name": "check.acme.io",
        "rules": [rule or PODS],
        "clientConfig": {"service": {"namespace": "acme", "name": "check"}},
        **fields,
    }
    return obj("admissionregistration.k8s.io/v1", kind, "acme") | {"webhooks": [one]}


def slices(*, ready: bool, namespace: str = "acme") -> Any:
    labels = {"kubernetes.io/service-name": "check"}
    built = obj("discovery.k8s.io/v1", "EndpointSlice", "check-x", namespace)
    built["metadata"]["labels"] = labels
    return built | {"endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": ready}}]}


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
@pytest.mark.parametrize(
    "rule",
    [
        PODS,
        {"apiGroups": ["*"], "resources": ["*/*"], "operations": ["*"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "operations": ["UPDATE"]},
    ],
    ids=["pods", "everything", "counts"],
)
@pytest.mark.parametrize("there", [[], [slices(ready=False)]], ids=["no endpoint", "none is ready"])
def test_a_webhook_without_a_server_refuses_the_wake(kind: str, rule: Any, there: Any) -> None:
    one = only(environment("web"), web(), webhook(rule, kind=kind), *there)
    assert (one.urgency, one.object) == ("fights", f"{kind} acme")
    assert "Service acme/check has no ready endpoint" in one.message
    assert yaml.safe_load(one.lines) == {"webhooks": [{"name": "check.acme.io", "failurePolicy": "Ignore"}]}


@pytest.mark.parametrize(
    "configuration",
    [
        webhook(failurePolicy="Ignore"),
        webhook({"apiGroups": [""], "resources": ["secrets"], "operations": ["CREATE"]}),
        webhook({"apiGroups": [""], "resources": ["pods"], "operations": ["DELETE"]}),
        webhook(namespaceSelector={"matchLabels": {"team": "other"}}),
        webhook(objectSelector={"matchLabels": {"app": "other"}}),
        webhook(clientConfig={"url": "https://acme.example.com"}),
    ],
    ids=["fails open", "other kind", "other operation", "other namespaces", "other pods", "by URL"],
)
def test_a_webhook_that_is_not_asked_about_members_is_left_alone(configuration: Any) -> None:
    assert found(environment("web"), web(), configuration, builders.a_namespace("shop")) == ()


def test_a_webhook_with_a_ready_server_is_left_alone() -> None:
    assert found(environment("web"), web(), webhook(), slices(ready=True)) == ()


def test_a_webhook_whose_server_is_a_member_would_refuse_its_own_pods() -> None:
    service = obj("v1", "Service", "check", "shop", spec={"selector": {"app": "web"}})
    configuration = webhook(clientConfig={"service": {"namespace": "shop", "name": "check"}})
    one = only(environment(), web(3), service, configuration, slices(ready=True, namespace="shop"))
    assert one.object == "Deployment shop/web"
    assert "while it sleeps, no member can wake" in one.message
    assert yaml.safe_load(one.lines) == {"metadata": {"annotations": {"keda-py.dev/exclude": "true"}}}


def test_endpoints_that_may_not_be_read_are_unknown_and_not_missing() -> None:
    diagnoses = found(environment("web"), web(), webhook(), unread={"EndpointSlice": "forbidden"})
    assert {one.urgency.value for one in diagnoses} == {"unknown"}


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> Any:
    built = obj("v1", "ResourceQuota", "small", "shop", spec={"hard": hard, **spec})
    return built | {"status": {"hard": hard, "used": used or dict.fromkeys(hard, "0")}}


@pytest.mark.parametrize(
    ("hard", "used", "needed"),
    [
        ({"requests.cpu": "1"}, {"requests.cpu": "0"}, {"requests.cpu": "1500m"}),
        ({"cpu": "2"}, {"cpu": "1"}, {"cpu": "2500m"}),
        ({"pods": "4"}, {"pods": "2"}, {"pods": "5"}),
        ({"requests.memory": "512Mi"}, {"requests.memory": "0"}, {"requests.memory": "805306368"}),
    ],
)
def test_a_quota_that_the_remembered_counts_exceed_is_told_before_the_morning(
    hard: dict[str, str], used: dict[str, str], needed: dict[str, str]
) -> None:
    one = only(environment("web"), web(), quota(hard, used))
    assert (one.urgency, one.object) == ("fights", "ResourceQuota shop/small")
    assert yaml.safe_load(one.lines) == {"spec": {"hard": needed}}


@pytest.mark.parametrize(
    "bodies",
    [
        (environment("web"), web(), quota({"requests.cpu": "1500m", "services": "1"})),
        (environment(), web(3), quota({"pods": "3"}, {"pods": "3"})),
    ],
    ids=["room for all", "all awake"],
)
def test_a_quota_with_room_is_left_alone(bodies: Any) -> None:
    assert found(*bodies) == ()


def test_a_quota_for_some_pods_is_a_note() -> None:
    assert only(environment("web"), web(), quota({"pods": "1"}, scopes=["BestEffort"])).urgency == "note"


def test_a_quota_that_cannot_be_read_is_unknown() -> None:
    assert only(environment("web"), web(), quota({"pods": "many"})).urgency == "unknown"


def test_an_environment_that_cannot_be_read_is_unknown_and_keeps_the_members_that_it_remembers() -> None:
    broken = environment("web", maxLead="soon")
    unread, fights = found(broken, web(), budget(maxUnavailable=0))[::-1]
    assert (unread.urgency, unread.object) == ("unknown", "Environment shop/dev")
    assert "spec.maxLead" in unread.message
    assert fights.members == ("Deployment shop/web",)


def test_a_kind_that_may_not_be_read_is_told_with_the_refusal() -> None:
    (one,) = found(environment("web"), web(), unread={"ResourceQuota": "no"})
    assert (one.urgency, one.object, one.message) == ("unknown", "ResourceQuota", "could not be looked at: no")
