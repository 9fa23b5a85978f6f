"""The rights that charts/keda-py gives: each is needed, and together they are enough."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.errors import KubeError
from keda_py.kube.resources import (
    API_SERVICES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    JOBS,
    LEASES,
    SCALED_JOBS,
    SECRETS,
    SERVICE_ACCOUNTS,
    TRIGGER_AUTHENTICATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from tests.builders import box_definition, cron, deployment, metrics_api, scaled_job, scaled_object
from tests.charts import exercise
from tests.charts.installed import BANK, SHOP, Installed, installed
from tests.charts.rendering import KEDA_PY, Obj, render
from tests.charts.rights import given, noted
from tests.e2e.scene import condition_of
from tests.http_server import http_server
from tests.sweeps import swept

RESTRICTED: dict[str, Any] = {
    **yaml.safe_load((KEDA_PY / "values-restricted.yaml").read_text()),
    "watchNamespace": SHOP,
    "rbac": {"scaledRefKinds": [{"apiGroup": exercise.GROUP, "kind": "boxen"}]},
}
RESTRICT = "permissions.operator.restrict"
FEW = {"permissions": {"operator": {"scaledJobs": False, "kubernetesWorkload": False, "podIdentities": False}}}
TOKEN = {"boundServiceAccountToken": [{"parameter": "bound", "serviceAccountName": "work"}]}
WAYS: dict[str, dict[str, Any]] = {
    "everywhere": {},
    "one namespace": {
        "watchNamespace": SHOP,
        "permissions": {"operator": {"restrict": {"allowAllServiceAccountTokenCreation": True}}},
    },
    "restricted": {key: value for key, value in RESTRICTED.items() if key != "permissions"},
    "few secrets": {
        "permissions": {
            "operator": {
                "restrict": {
                    "secret": True,
                    "serviceAccountTokenCreationRoles": [{"name": "work", "namespace": SHOP}],
                }
            }
        }
    },
}


async def hear_the_webhook(here: Installed) -> None:
    """A second ScaledObject on the same Deployment is not let in, once the webhook carries the operator's CA."""

    def trusted(live: Obj) -> bool:
        return all(one["clientConfig"].get("caBundle") for one in live["webhooks"])

    await here.scene.until(VALIDATING_WEBHOOK_CONFIGURATIONS, trusted, "keda-admission")
    rival = scaled_object(cron("0 8 * * *", "0 20 * * *"), name="rival", scaleTargetRef={"name": "deployment"})
    with pytest.raises(KubeError, match="admission webhook"):
        await here.scene.create(rival)


async def be_available(here: Installed) -> None:
    """Both aggregated APIs answer."""
    for api in ("v1beta1.external.metrics.k8s.io", "v1alpha1.insight.keda-py.dev"):
        await here.scene.until(API_SERVICES, lambda live: condition_of(live, "Available")["status"] == "True", api)


async def live(here: Installed, *, boxen_are_named: bool, **tokens: Any) -> None:
    """Everything that the operator is for, none of it refused."""
    await be_available(here)
    await here.scene.client.create(SERVICE_ACCOUNTS, exercise.named("ServiceAccount", "work"))
    async with http_server() as server:
        await exercise.follow_sources(here, server, **tokens)
        await exercise.scale_up_and_down(here, server)
        await exercise.wait_for_targets(here, server, boxen_are_named=boxen_are_named)
        await exercise.change_hpas(here)
        await exercise.ask_around(here, server)
        await exercise.be_many_accounts(here)
        await exercise.spoil_the_certificates(here)
        await exercise.run_jobs(here, server)
        await exercise.follow_event_sources(here)
        await exercise.sleep_and_wake(here)
        assert here.refused == []
        await hear_the_webhook(here)  # its refusal counts, too, so it comes last


@pytest.mark.parametrize("way", swept(WAYS, {"everywhere", "restricted"}))
async def test_no_request_of_the_operator_is_refused_and_no_right_is_idle(way: str, tmp_path: Path) -> None:
    values = WAYS[way]
    with noted() as used:
        async with installed(tmp_path, **values) as here:
            await live(here, boxen_are_named="rbac" in values, **(TOKEN if "permissions" in values else {}))
    assert given(render(**values)) - used == set()


@pytest.mark.parametrize("where", [{}, {"watchNamespace": SHOP}], ids=["everywhere", "one namespace"])
async def test_cluster_environments_use_the_rights_that_their_switch_gives_and_need_no_other(
    where: dict[str, Any], tmp_path: Path
) -> None:
    values = {**where, "clusterEnvironments": {"enabled": True}}
    with noted() as used:
        async with installed(tmp_path, **values) as here:
            await exercise.cover_a_namespace(here)
            assert here.refused == []
    on, off = ({(right.resource, right.verb) for right in given(render(**each))} for each in (values, where))
    assert on - off - {(right.resource, right.verb) for right in used} == set()


async def test_where_secrets_are_named_a_trigger_gets_those_and_no_other(tmp_path: Path) -> None:
    values = {**RESTRICTED, "permissions": {"operator": {"restrict": {"namesAllowList": ["named"]}}}}
    async with http_server() as server, installed(tmp_path, **values) as here:
        server.answers["/jobs"] = '{"value": 20}'
        for name in ("named", "unnamed"):
            await here.scene.client.create(SECRETS, exercise.named("Secret", name, stringData={"token": name}))
            reference = [{"parameter": "token", "name": name, "key": "token"}]
            authentication = exercise.named("TriggerAuthentication", name, spec={"secretTargetRef": reference})
            await here.scene.client.create(TRIGGER_AUTHENTICATIONS, authentication)
            trigger = metrics_api(f"{server.url}/jobs", authenticationRef={"name": name})
            trigger["metadata"]["authMode"] = "bearer"
            await here.scene.create(deployment(name), scaled_object(trigger, name=name))
        await here.scene.replicas(4, "named")
        unready = await here.scene.condition("Ready", "False", name="unnamed")
        assert "secrets" in unready["message"]
        assert {request.headers["Authorization"] for request in server.asked} == {"Bearer named"}
        assert all('resource="secrets"' in line for line in here.refused)


async def test_where_config_maps_are_named_a_trigger_gets_those_and_no_other(tmp_path: Path) -> None:
    values = {"permissions": {"operator": {"restrict": {"configMapNamesAllowList": ["named"]}}}}
    async with installed(tmp_path, **values) as here:
        for name in ("named", "unnamed"):
            await here.scene.client.create(CONFIG_MAPS, exercise.named("ConfigMap", name, data={"count": "4"}))
            backlog = {"resourceKind": "ConfigMap", "resourceName": name, "key": "count", "targetValue": "1"}
            trigger = {"type": "kubernetes-resource", "metadata": backlog}
            await here.scene.create(deployment(name), scaled_object(trigger, name=name))
        await here.scene.replicas(4, "named")
        unready = await here.scene.condition("Ready", "False", name="unnamed")
        await here.scene.event(
            "KEDAScalerFailed", "unnamed", words=f"the value {RESTRICT}.configMapNamesAllowList gives"
        )
        assert unready["status"] == "False"
        assert all('resource="configmaps"' in line for line in here.refused)


def test_rights_that_only_some_manifests_need_can_be_taken_away() -> None:
    needed = {right.resource for right in given(render())} - {right.resource for right in given(render(**FEW))}
    assert needed == {"jobs", "pods", "serviceaccounts"}
    for value, resources in (("scaledJobs", {"jobs"}), ("podIdentities", {"serviceaccounts"})):
        less = render(permissions={"operator": {value: False}})
        assert {right.resource for right in given(render())} - {right.resource for right in given(less)} == resources


async def test_without_manifests_that_need_them_such_rights_are_not_missed(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path, **FEW) as here:
        await be_available(here)
        server.answers["/busy"] = '{"value": 20}'
        await here.scene.create(deployment(), scaled_object(metrics_api(f"{server.url}/busy")))
        await here.scene.replicas(4)
        assert here.refused == []


async def test_an_object_that_needs_a_right_that_was_taken_away_says_which_value_gives_it(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path, **FEW) as here:
        scene, server.answers["/jobs"] = here.scene, '{"value": 1}'
        await scene.client.create(
            SCALED_JOBS, scaled_job(metrics_api(f"{server.url}/jobs"), name="work", namespace=SHOP)
        )
        live = await scene.until(SCALED_JOBS, lambda live: condition_of(live, "Ready").get("status") == "False", "work")
        assert "the value permissions.operator.scaledJobs gives this right" in condition_of(live, "Ready")["message"]
        pods = {"type": "kubernetes-workload", "metadata": {"podSelector": "app=app", "value": "1"}}
        await scene.create(deployment("pods"), scaled_object(pods, name="pods"))
        await scene.event("KEDAScalerFailed", "pods", words="the value permissions.operator.kubernetesWorkload")
        identity = {"podIdentity": {"provider": "aws", "identityOwner": "workload"}}
        await scene.client.create(
            TRIGGER_AUTHENTICATIONS, exercise.named("TriggerAuthentication", "own", spec=identity)
        )
        named = cron("0 8 * * *", "0 20 * * *") | {"authenticationRef": {"name": "own"}}
        body = deployment("identity")
        body["spec"]["template"]["spec"]["serviceAccountName"] = "work"
        await scene.create(body, scaled_object(named, name="identity"))
        await scene.event("KEDAScalerFailed", "identity", words="the value permissions.operator.podIdentities gives")
        await scene.condition("Ready", "False", name="identity")
        assert await here.scene.client.list(JOBS, SHOP) == []


async def test_a_scaled_job_runs_as_soon_as_the_right_is_given(tmp_path: Path) -> None:
    values = {"permissions": {"operator": {"scaledJobs": False}}}
    async with http_server() as server, installed(tmp_path, **values) as here:
        server.answers["/jobs"] = '{"value": 1}'
        await here.scene.client.create(
            SCALED_JOBS, scaled_job(metrics_api(f"{server.url}/jobs"), name="work", namespace=SHOP)
        )
        await here.scene.until(SCALED_JOBS, lambda live: condition_of(live, "Ready").get("status") == "False", "work")
        (role,) = [
            one for one in render() if one["kind"] == "ClusterRole" and one["metadata"]["name"] == "keda-operator"
        ]
        await here.cluster.apply([role])
        await here.until_listed(JOBS, SHOP, lambda job: bool(job["metadata"].get("labels")))


@pytest.mark.parametrize("allowed", [[], [BANK]], ids=["not allowed", "allowed"])
async def test_the_endpoints_of_another_namespace_are_asked_only_where_the_chart_says_so(
    allowed: list[str], tmp_path: Path
) -> None:
    values = {**RESTRICTED, "permissions": {"operator": {"crossNamespaceEndpoints": allowed}}}
    async with http_server() as server, installed(tmp_path, **values) as here:
        server.answers["/busy"] = '{"value": 20}'
        await here.scene.client.create(exercise.ENDPOINT_SLICES, exercise.endpoints_here(server, BANK))
        trigger = exercise.endpoint_by_endpoint(server, BANK)
        await here.scene.create(deployment(), scaled_object(trigger))
        if allowed:
            await here.scene.replicas(4)
        else:
            await here.scene.condition("Ready", "False")
            await here.scene.event("KEDAScalerFailed", words='may not read endpointslices of namespace "bank"')
            assert server.asked == []
        assert here.refused == []


async def test_with_certificates_of_ones_own_the_rights_to_keep_them_are_not_missed(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path, certificates={"autoGenerated": False}) as here:
        await be_available(here)
        server.answers["/busy"] = '{"value": 20}'
        await here.scene.create(deployment("deployment"))
        busy = scaled_object(metrics_api(f"{server.url}/busy"), name="deployment")
        await here.scene.create(busy)
        await here.scene.replicas(4, "deployment")
        assert here.refused == []
        await hear_the_webhook(here)


async def test_the_next_replica_takes_over_with_the_same_rights(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path) as here:
        server.answers["/busy"] = '{"value": 1}'
        await here.until_listed(LEASES, "keda", lambda lease: led_by(lease, "keda-operator-0"))
        async with here.second():
            here.leave.set()
            await here.until_listed(LEASES, "keda", lambda lease: led_by(lease, "keda-operator-1"))
            await here.scene.create(deployment(), scaled_object(metrics_api(f"{server.url}/busy")))
            await here.scene.replicas(1)
            assert here.refused == []


def led_by(lease: Obj, pod: str) -> bool:
    return str(lease["spec"].get("holderIdentity")).startswith(pod)


async def test_a_custom_target_that_is_missing_is_told_without_the_right_to_read_it(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path) as here:
        await here.scene.client.create(CUSTOM_RESOURCE_DEFINITIONS, box_definition(exercise.GROUP))
        target = {"apiVersion": f"{exercise.GROUP}/v1", "kind": "Box", "name": "box"}
        await here.scene.create(scaled_object(metrics_api(f"{server.url}/busy"), scaleTargetRef=target))
        ready = await here.scene.condition("Ready", "False")
        assert 'boxen.example.com "box" not found' in ready["message"]
        await here.scene.event("ScaledObjectCheckFailed", words="doesn't exist, or doesn't expose /scale subresource")
