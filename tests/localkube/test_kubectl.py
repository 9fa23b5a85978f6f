"""Every kubectl command that people use on this cluster, run by the real kubectl."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio
import yaml

from keda_py.localkube.cluster import LocalCluster
from tests.builders import a_namespace
from tests.definitions import DEFINITIONS
from tests.localkube.kubectl import Kubectl, needs_kubectl
from tests.waiting import eventually

pytestmark = [pytest.mark.kubectl, needs_kubectl, pytest.mark.asyncio(loop_scope="module")]

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {
                "labels": {"app": "web"},
                "annotations": {"local.keda-py.dev/cpu": "60m", "local.keda-py.dev/startup-seconds": "0"},
            },
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]},
        },
    },
}
CRON = {"timezone": "UTC", "start": "0 8 * * *", "end": "0 20 * * *", "desiredReplicas": "2"}
SCALED_OBJECT: dict[str, Any] = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "web"},
    "spec": {"scaleTargetRef": {"name": "web"}, "maxReplicaCount": 5, "triggers": [{"type": "cron", "metadata": CRON}]},
}


NAMESPACES = (f"test-{number}" for number in itertools.count())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One cluster for all tests, and a kubectl that has discovered its kinds."""

    cluster: LocalCluster
    kubectl: Kubectl


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    folder = tmp_path_factory.mktemp("kubectl")
    async with LocalCluster() as cluster:
        await cluster.apply(DEFINITIONS)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(cluster.kubeconfig())
        yield Shared(cluster=cluster, kubectl=Kubectl(kubeconfig=kubeconfig, cache=folder / "cache"))


@pytest_asyncio.fixture(loop_scope="module")
async def kubectl(shared: Shared) -> Kubectl:
    """A kubectl in a namespace of this test."""
    namespace = next(NAMESPACES)
    await shared.cluster.apply([a_namespace(namespace)])
    return replace(shared.kubectl, namespace=namespace)


@pytest_asyncio.fixture(loop_scope="module")
async def web(shared: Shared, kubectl: Kubectl) -> None:
    """Create a Deployment with Ready pods and a ScaledObject, as a client other than kubectl would."""
    for manifest in (DEPLOYMENT, SCALED_OBJECT):
        named = {**manifest["metadata"], "namespace": kubectl.namespace}
        await shared.cluster.apply([{**manifest, "metadata": named}])

    def is_available() -> bool:
        status = shared.cluster.store.find(deployments, kubectl.namespace, "web").get("status") or {}
        return status.get("availableReplicas") == 2

    deployments = shared.cluster.store.resources.get("apps/v1", "Deployment")
    await eventually(is_available, 20)


def scaled(replicas: int) -> dict[str, Any]:
    return {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": replicas}}


async def test_version_knows_the_server(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36" in await kubectl.run("version")


async def test_api_resources_lists_built_in_and_custom_kinds(kubectl: Kubectl) -> None:
    listed = await kubectl.run("api-resources", "--no-headers")
    rows = {tuple(line.split()) for line in listed.splitlines()}
    assert ("deployments", "deploy", "apps/v1", "true", "Deployment") in rows
    assert ("scaledobjects", "so", "keda.sh/v1alpha1", "true", "ScaledObject") in rows
    assert ("pods", "metrics.k8s.io/v1beta1", "true", "PodMetrics") in rows


async def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    for manifest, name in ((DEPLOYMENT, "deployment.apps/web"), (SCALED_OBJECT, "scaledobject.keda.sh/web")):
        assert await kubectl.run("apply", "-f", "-", stdin=manifest) == f"{name} created\n"
        assert await kubectl.run("apply", "-f", "-", stdin=manifest) == f"{name} unchanged\n"
    assert await kubectl.run("apply", "-f", "-", stdin=scaled(3)) == "deployment.apps/web configured\n"
    assert (await kubectl.json("get", "deployment", "web"))["spec"]["replicas"] == 3


async def test_apply_removes_what_the_manifest_no_longer_says(kubectl: Kubectl) -> None:
    labelled = {**DEPLOYMENT, "metadata": {"name": "web", "labels": {"a": "1", "b": "2"}}}
    await kubectl.run("apply", "-f", "-", stdin=labelled)
    await kubectl.run("apply", "-f", "-", stdin={**DEPLOYMENT, "metadata": {"name": "web", "labels": {"b": "2"}}})
    assert (await kubectl.json("get", "deployment", "web"))["metadata"]["labels"] == {"b": "2"}


async def test_apply_dry_run_on_the_server_writes_nothing(kubectl: Kubectl) -> None:
    await kubectl.run("apply", "-f", "-", "--dry-run=server", stdin=DEPLOYMENT)
    assert "NotFound" in (await kubectl.try_run("get", "deployment", "web")).err


async def test_apply_refuses_unknown_fields_by_name(kubectl: Kubectl) -> None:
    wrong = {**SCALED_OBJECT, "spec": {**SCALED_OBJECT["spec"], "maxReplicas": 3}}
    outcome = await kubectl.try_run("apply", "-f", "-", stdin=wrong)
    assert outcome.code == 1
    assert 'unknown field "spec.maxReplicas"' in outcome.err


async def test_apply_takes_a_list(kubectl: Kubectl) -> None:
    names = "deployment.apps/web", "scaledobject.keda.sh/web"
    both = {"apiVersion": "v1", "kind": "List", "items": [DEPLOYMENT, SCALED_OBJECT]}
    for outcome in ("created", "unchanged"):
        assert await kubectl.run("apply", "-f", "-", stdin=both) == "".join(f"{name} {outcome}\n" for name in names)


async def test_apply_refuses_unknown_fields_of_each_item_of_a_list(kubectl: Kubectl) -> None:
    items = [{**one, "spec": {**one["spec"], "maxReplicas": 3}} for one in (DEPLOYMENT, SCALED_OBJECT)]
    outcome = await kubectl.try_run("apply", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})
    assert (outcome.code, outcome.err.count('unknown field "spec.maxReplicas"')) == (1, 2)
    assert "NotFound" in (await kubectl.try_run("get", "deployment", "web")).err


async def test_apply_refuses_wrong_values_by_field(kubectl: Kubectl) -> None:
    outcome = await kubectl.try_run("apply", "-f", "-", stdin=scaled(-1))
    assert 'The Deployment "web" is invalid: spec.replicas: Invalid value: -1' in outcome.err


async def test_server_side_apply_reports_a_conflict_and_can_be_forced(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    assert await kubectl.run(*apply, "--field-manager=one", stdin=DEPLOYMENT) == (
        "deployment.apps/web serverside-applied\n"
    )
    outcome = await kubectl.try_run(*apply, "--field-manager=two", stdin=scaled(5))
    assert 'Apply failed with 1 conflict: conflict with "one": .spec.replicas' in outcome.err
    await kubectl.run(*apply, "--field-manager=two", "--force-conflicts", stdin=scaled(5))
    web = await kubectl.json("get", "deployment", "web", "--show-managed-fields")
    assert web["spec"]["replicas"] == 5
    owners = [entry["manager"] for entry in web["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    assert sorted(owners) == ["one", "two"]


async def test_a_client_side_applied_object_can_move_to_server_side_apply(kubectl: Kubectl) -> None:
    await kubectl.run("apply", "-f", "-", stdin=DEPLOYMENT)
    await kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=scaled(1))
    assert (await kubectl.json("get", "deployment", "web"))["spec"]["replicas"] == 1


async def test_create_makes_simple_kinds_and_manifests(kubectl: Kubectl) -> None:
    assert await kubectl.run("create", "namespace", "other") == "namespace/other created\n"
    await kubectl.run("create", "configmap", "settings", "--from-literal=a=b", "-n", "other")
    await kubectl.run("create", "secret", "generic", "login", "--from-literal=password=x", "-n", "other")
    await kubectl.run("create", "serviceaccount", "robot", "-n", "other")
    await kubectl.run("create", "-f", "-", "-n", "other", stdin=DEPLOYMENT)
    assert (await kubectl.json("get", "configmap", "settings", "-n", "other"))["data"] == {"a": "b"}
    assert (await kubectl.json("get", "secret", "login", "-n", "other"))["data"] == {"password": "eA=="}
    again = await kubectl.try_run("create", "serviceaccount", "robot", "-n", "other")
    assert again.err == 'error: failed to create serviceaccount: serviceaccounts "robot" already exists\n'


async def test_create_and_run_make_workloads_access_and_autoscalers(kubectl: Kubectl) -> None:
    where = kubectl.namespace
    await kubectl.run("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "--port=80")
    await kubectl.run("set", "resources", "deployment", "web", "--requests=cpu=0.5")
    await kubectl.run("expose", "deployment", "web", "--port=80", "--target-port=8080")
    await kubectl.run("autoscale", "deployment", "web", "--min=1", "--max=3", "--cpu-percent=50")
    await kubectl.run("run", "alone", "--image=busybox", "--env=A=b", "--command", "--", "sleep", "9")
    await kubectl.run("create", "job", "once", "--image=busybox")
    await kubectl.run("create", "cronjob", "often", "--image=busybox", "--schedule=*/5 * * * *")
    await kubectl.run("create", "role", "reader", "--verb=get,list", "--resource=pods,deployments.apps")
    await kubectl.run("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={where}:default")
    web = (await kubectl.json("get", "deployment", "web"))["spec"]
    assert web["replicas"] == 2
    assert web["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert web["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}
    assert (await kubectl.json("get", "service", "web"))["spec"]["ports"][0]["targetPort"] == 8080
    assert (await kubectl.json("get", "hpa", "web"))["spec"]["maxReplicas"] == 3
    pod = (await kubectl.json("get", "pod", "alone"))["spec"]["containers"][0]
    assert (pod["command"], pod["env"]) == (["sleep", "9"], [{"name": "A", "value": "b"}])
    assert (await kubectl.json("get", "cronjob", "often"))["spec"]["schedule"] == "*/5 * * * *"
    reader = f"system:serviceaccount:{where}:default"
    assert (await kubectl.try_run("auth", "can-i", "list", "deployments.apps", f"--as={reader}")).out == "yes\n"
    assert (await kubectl.try_run("auth", "can-i", "delete", "pods", f"--as={reader}")).out == "no\n"


async def test_get_prints_tables(kubectl: Kubectl, web: None) -> None:
    header, row = (await kubectl.run("get", "deployment")).splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "2/2", "2", "2"]
    wide = (await kubectl.run("get", "deployment", "web", "-o", "wide")).splitlines()[1]
    assert wide.split()[-3:] == ["c", "nginx:1.27", "app=web"]
    row = (await kubectl.run("get", "so", "--no-headers")).split()
    assert row[:3] == ["web", "web", "5"]


async def test_get_prints_yaml_json_names_and_paths(kubectl: Kubectl, web: None) -> None:
    shown = yaml.safe_load(await kubectl.run("get", "scaledobject", "web", "-o", "yaml"))
    assert shown["spec"] == SCALED_OBJECT["spec"]
    assert (await kubectl.json("get", "deployment"))["kind"] == "List"
    names = await kubectl.run("get", "deployment,scaledobject", "-o", "name")
    assert names.split() == ["deployment.apps/web", "scaledobject.keda.sh/web"]
    assert await kubectl.run("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "2"
    pods = await kubectl.run("get", "pods", "-l", "app=web", "--field-selector=status.phase=Running", "-o", "name")
    assert len(pods.split()) == 2


async def test_get_all_shows_a_category(kubectl: Kubectl, web: None) -> None:
    names = (await kubectl.run("get", "all", "-o", "name")).split()
    assert "deployment.apps/web" in names
    assert sum(name.startswith("pod/") for name in names) == 2


async def test_get_watch_prints_changes_as_they_happen(kubectl: Kubectl, web: None) -> None:
    async with kubectl.started("get", "deployment", "web", "--watch", "--no-headers") as watch, asyncio.timeout(20):
        assert watch.stdout is not None
        assert (await watch.stdout.readline()).split()[:2] == [b"web", b"2/2"]
        await kubectl.run("scale", "deployment/web", "--replicas=1")
        while (await watch.stdout.readline()).split()[1] != b"1/1":
            pass


async def test_describe_shows_status_and_events(kubectl: Kubectl, web: None) -> None:
    deployment = await kubectl.run("describe", "deployment", "web")
    assert "2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in deployment
    assert "ScalingReplicaSet" in deployment
    assert "Max Replica Count:  5" in await kubectl.run("describe", "scaledobject", "web")
    assert "nginx:1.27" in await kubectl.run("describe", "pods", "-l", "app=web")


async def test_scale_sets_replicas_once_the_count_is_as_expected(kubectl: Kubectl, web: None) -> None:
    assert await kubectl.run("scale", "deployment/web", "--replicas=0") == "deployment.apps/web scaled\n"
    await kubectl.run("wait", "--for=jsonpath={.status.observedGeneration}=2", "deployment/web", "--timeout=120s")
    outcome = await kubectl.try_run("scale", "deployment/web", "--current-replicas=7", "--replicas=1")
    assert "Expected replicas to be 7, was 0" in outcome.err


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}'),
        ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]'),
    ],
)
async def test_patch_changes_a_built_in_kind(kubectl: Kubectl, web: None, kind: str, patch: str) -> None:
    assert await kubectl.run("patch", "deploy", "web", f"--type={kind}", "-p", patch) == "deployment.apps/web patched\n"
    (container,) = (await kubectl.json("get", "deployment", "web"))["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("c", "nginx:2")


async def test_patch_of_a_custom_resource_is_a_merge_or_json_patch(kubectl: Kubectl, web: None) -> None:
    await kubectl.run("patch", "so", "web", "--type=merge", "-p", '{"spec":{"minReplicaCount":1}}')
    await kubectl.run(
        "patch", "so", "web", "--type=json", "-p", '[{"op":"replace","path":"/spec/maxReplicaCount","value":9}]'
    )
    spec = (await kubectl.json("get", "so", "web"))["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1, 9)
    refused = await kubectl.try_run("patch", "so", "web", "-p", "{}")
    assert "application/merge-patch+json" in refused.err


async def test_a_status_is_patched_through_its_subresource(kubectl: Kubectl, web: None) -> None:
    patch = '{"status":{"hpaName":"keda-hpa-web"}}'
    await kubectl.run("patch", "so", "web", "--subresource=status", "--type=merge", "-p", patch)
    assert (await kubectl.json("get", "so", "web"))["status"]["hpaName"] == "keda-hpa-web"


async def test_label_and_annotate_add_and_remove(kubectl: Kubectl, web: None) -> None:
    assert await kubectl.run("label", "deploy", "web", "tier=front") == "deployment.apps/web labeled\n"
    assert (await kubectl.run("get", "deploy", "-l", "tier in (front)", "-o", "name")).split() == [
        "deployment.apps/web"
    ]
    assert await kubectl.run("label", "deploy", "web", "tier-") == "deployment.apps/web unlabeled\n"
    await kubectl.run("annotate", "so", "web", "autoscaling.keda.sh/paused=true")
    assert (await kubectl.json("get", "so", "web"))["metadata"]["annotations"]["autoscaling.keda.sh/paused"] == "true"


async def test_delete_waits_until_the_object_and_its_pods_are_gone(kubectl: Kubectl, web: None) -> None:
    gone = await kubectl.run("delete", "deployment", "web", "--cascade=foreground", "--timeout=120s")
    assert gone == 'deployment.apps "web" deleted\n'
    assert await kubectl.run("get", "pods", "-o", "name") == ""
    assert await kubectl.run("delete", "so", "--all") == 'scaledobject.keda.sh "web" deleted\n'
    assert "NotFound" in (await kubectl.try_run("delete", "so", "web")).err
    assert await kubectl.run("delete", "so", "web", "--ignore-not-found") == ""


async def test_a_finalizer_holds_an_object_until_it_is_removed(kubectl: Kubectl) -> None:
    held = {**SCALED_OBJECT, "metadata": {"name": "web", "finalizers": ["example.com/hold"]}}
    await kubectl.run("create", "-f", "-", stdin=held)
    await kubectl.run("delete", "so", "web", "--wait=false")
    assert (await kubectl.json("get", "so", "web"))["metadata"]["deletionTimestamp"]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(kubectl.run("wait", "so/web", "--for=delete", "--timeout=120s"))
        tasks.create_task(kubectl.run("patch", "so", "web", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'))


async def test_a_namespace_goes_with_everything_in_it(kubectl: Kubectl) -> None:
    await kubectl.run("create", "namespace", "left")
    await kubectl.run("create", "-f", "-", "-n", "left", stdin=DEPLOYMENT)
    assert await kubectl.run("delete", "namespace", "left", "--timeout=120s") == 'namespace "left" deleted\n'
    assert await kubectl.run("get", "deployment", "-n", "left", "-o", "name") == ""


async def test_wait_ends_with_a_condition_a_value_or_the_time(kubectl: Kubectl, web: None) -> None:
    await kubectl.run("wait", "pod", "-l", "app=web", "--for=condition=Ready", "--timeout=120s")
    await kubectl.run("wait", "deploy/web", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=120s")
    late = await kubectl.try_run("wait", "deploy/web", "--for=jsonpath={.status.readyReplicas}=9", "--timeout=1s")
    assert "timed out waiting for the condition" in late.err


async def test_events_of_an_object_are_listed(kubectl: Kubectl, web: None) -> None:
    listed = await kubectl.run("events", "--for=deployment/web")
    assert "ScalingReplicaSet" in listed
    assert "SuccessfulCreate" not in listed
    table = await kubectl.run("get", "events", "--field-selector=involvedObject.kind=Deployment")
    assert "deployment/web" in table


async def test_raw_requests_reach_the_server(kubectl: Kubectl, web: None) -> None:
    assert await kubectl.run("get", "--raw", "/readyz") == "ok"
    assert '"kind":"Scale"' in await kubectl.run(
        "get", "--raw", f"/apis/apps/v1/namespaces/{kubectl.namespace}/deployments/web/scale"
    )
    assert "apiserver_request_total{" in await kubectl.run("get", "--raw", "/metrics")


async def test_top_shows_the_declared_usage(kubectl: Kubectl, web: None) -> None:
    rows = [line.split() for line in (await kubectl.run("top", "pods", "--no-headers")).splitlines()]
    assert [row[1] for row in rows] == ["60m", "60m"]


async def test_rollout_follows_a_new_image(kubectl: Kubectl, web: None) -> None:
    await kubectl.run("set", "image", "deployment/web", "c=nginx:1.28")
    assert "successfully rolled out" in await kubectl.run("rollout", "status", "deployment/web", "--timeout=120s")
    assert "nginx:1.28" in await kubectl.run("get", "pods", "-o", "jsonpath={.items[*].spec.containers[*].image}")


async def test_an_autoscaler_of_the_first_version_is_applied_and_described(kubectl: Kubectl, web: None) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 4, "targetCPUUtilizationPercentage": 50}
    hpa = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}
    await kubectl.run("apply", "-f", "-", stdin=hpa)
    assert "/50%" in (await kubectl.run("get", "hpa", "web", "--no-headers"))
    assert "Max replicas:" in await kubectl.run("describe", "hpa", "web")
