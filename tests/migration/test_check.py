"""`keda-py migrate check`: each thing that differs, or that has to be done first, is told with its remedy."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.cli.migrate import read_keda_flags
from keda_py.migration.check import check_migration
from keda_py.migration.findings import Finding
from keda_py.migration.installation import Installation, from_bodies
from tests import builders
from tests.migration.installed import (
    CRON,
    HELM,
    KEEP,
    Obj,
    api_service,
    definition,
    lease,
    operator,
    owned_hpa,
    watched,
    webhook,
)
from tests.operator.downscaler.builders import marked
from tests.properties import examples
from tests.validation.manifests import junk


def in_shop(kind: str = "TriggerAuthentication", **spec: Any) -> Obj:
    return builders.authentication(kind=kind, namespace="shop", **spec)


def vault(address: str = "https://vault", authentication: str = "kubernetes", **more: Any) -> Obj:
    secrets = [{"parameter": "a", "path": "p", "key": "k"}]
    login = {"role": "r", "mount": "m"} if authentication == "kubernetes" else {}
    return {"hashiCorpVault": {"address": address, "authentication": authentication, "secrets": secrets} | login | more}


def azure(uri: str = "https://x.vault.azure.net", **more: Any) -> Obj:
    identity = {"provider": "azure-workload", **more.pop("identity", {})}
    secrets = [{"parameter": "a", "name": "n"}]
    return {"azureKeyVault": {"vaultUri": uri, "secrets": secrets, "podIdentity": identity, **more}}


def downscaler(*arguments: str, env: dict[str, str] | None = None) -> Obj:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    container = {"image": "example.org/caas-team/py-kube-downscaler:24", "args": list(arguments), "env": variables}
    spec = {"template": {"spec": {"containers": [container]}}}
    return builders.obj("apps/v1", "Deployment", "py-kube-downscaler", "downscaler", spec=spec)


def downscaled(**annotations: str) -> Obj:
    return marked(builders.obj("apps/v1", "Deployment", "web", "shop"), **annotations)


def pausing(body: Obj) -> Obj:
    annotations = {"autoscaling.keda.sh/paused-replicas": "0"}
    return {**body, "metadata": {**body["metadata"], "annotations": annotations}}


CLUSTER_WIDE = "ClusterTriggerAuthentication"
HTTPS_ONLY = (
    "ClusterTriggerAuthentication auth: spec.hashiCorpVault.address: http://vault: the operator's ServiceAccount"
)
UNKNOWN = {"type": "acme-queue", "metadata": {"topic": "t"}}
NAMED_CRON = "s0-cron-UTC-08xxx-020xxx"


async def findings(*bodies: Obj) -> tuple[Finding, ...]:
    return await check_migration(from_bodies(bodies), read_keda_flags)


def told(found: tuple[Finding, ...], severity: str) -> str:
    return "\n".join(f"{one.object}: {one.message} -> {one.remedy}" for one in found if one.severity == severity)


BLOCKS = {
    "a label selector": (
        [operator("--leader-elect", env={"WATCH_LABEL_SELECTOR": "team=shop"})],
        "WATCH_LABEL_SELECTOR=team=shop: keda-py has no label selector, and would scale the objects of other operators",
    ),
    "a trigger type without a scaler": (
        [watched(UNKNOWN)],
        "trigger type acme-queue: has no scaler here; used by ScaledObject shop/web",
    ),
    "an object that would be refused": (
        [watched(minReplicaCount=3, maxReplicaCount=2)],
        "minReplicaCount must be less than or equal to maxReplicaCount",
    ),
    "an operator without leader election": (
        [operator()],
        "kubectl scale deployment keda-operator -n keda --replicas=0",
    ),
    "CRDs that go with KEDA's release": ([definition(HELM)], "`helm uninstall` takes every object of this kind along"),
    "a CRD whose annotation kubectl wrote": (
        [definition(HELM | KEEP, policy_by="kubectl-annotate")],
        r"--set 'crds.additionalAnnotations.helm\.sh/resource-policy=keep'",
    ),
    "a vault that is sent the operator's ServiceAccount token": (
        [in_shop(**vault())],
        "TriggerAuthentication shop/auth: spec.hashiCorpVault.address: the operator's ServiceAccount token is not sent",
    ),
    "a vault that is sent VAULT_TOKEN": ([in_shop(**vault(authentication="token"))], "VAULT_TOKEN is not sent"),
    "a vault that is sent a token over http": ([in_shop(CLUSTER_WIDE, **vault("http://vault"))], HTTPS_ONLY),
    "a key vault of somebody's own": (
        [in_shop(**azure("https://evil"))],
        "azureKeyVault.vaultUri: the operator's",
    ),
    "a login of somebody's own": (
        [in_shop(podIdentity={"provider": "azure-workload", "identityAuthorityHost": "https://evil"})],
        "spec.podIdentity.identityAuthorityHost: the operator's federated token of Azure is not sent",
    ),
    "another adapter's APIService": (
        [api_service("datadog", "cluster-agent")],
        "--external-metrics-upstream=https://cluster-agent.datadog.svc",
    ),
}
SLOW = {"queryValue": "5", "host": "db", "query": "SELECT COUNT(*) FROM jobs WHERE SLEEP(5) = 0"}
CHANGES = {
    "a type that KEDA asks without a limit of time": (
        [watched({"type": "external", "metadata": {"scalerAddress": "scaler:6000"}})],
        "a question may take 3 s (KEDA_HTTP_DEFAULT_TIMEOUT), where KEDA waits for any time; used by ScaledObject "
        "shop/web -> where one takes longer, set `timeout`",
    ),
    "a query that says that it takes longer": (
        [watched({"type": "mysql", "metadata": SLOW})],
        "ScaledObject shop/web: the query of a mysql trigger waits 5 s, and fails here after 3 s -> set `timeout`",
    ),
    "a query that takes longer than the installed operator allows": (
        [operator(env={"KEDA_HTTP_DEFAULT_TIMEOUT": "4500"}), watched({"type": "mysql", "metadata": SLOW})],
        "ScaledObject shop/web: the query of a mysql trigger waits 5 s, and fails here after 4.5 s -> set `timeout`",
    ),
    "the time-out of the installed operator": (
        [operator(env={"KEDA_HTTP_DEFAULT_TIMEOUT": "9000"}), watched({"type": "mysql", "metadata": SLOW})],
        "a question may take 9 s (KEDA_HTTP_DEFAULT_TIMEOUT of Deployment keda/keda-operator), where KEDA waits",
    ),
    "a query of T-SQL that does": (
        [watched({"type": "mssql", "metadata": {**SLOW, "query": "WAITFOR DELAY '00:00:07'; SELECT 1"}})],
        "the query of a mssql trigger waits 7 s",
    ),
    "a default of the downscaler": (
        [downscaler("--default-uptime", "Mon-Fri 08:00-18:00 UTC")],
        "says --default-uptime=Mon-Fri 08:00-18:00 UTC, which keda-py has no setting for -> write the annotation "
        "downscaler/uptime on the namespaces",
    ),
    "a variable of the downscaler": (
        [downscaler(env={"EXCLUDE_NAMESPACES": "ops"})],
        "--exclude-namespaces=ops, which keda-py has no setting for -> write the annotation downscaler/exclude on them",
    ),
    "a resource of the downscaler alone": ([downscaler("--include-resources=stacks")], "includes stacks, which"),
    "a window that crosses midnight": (
        [downscaled(downtime="Mon-Fri 08:00-09:00 UTC, Mon-Fri 22:00-06:00 UTC")],
        "downscaler/downtime: 'Mon-Fri 22:00-06:00 UTC' crosses midnight: py-kube-downscaler never opens it",
    ),
    "an annotation that cannot be read, behind one that can": (
        [downscaled(uptime="Mon-Sun 00:00-24:00 UTC,Mon-Fri 08:00-18:00 Middle/Earth")],
        "downscaler/uptime: 'Middle/Earth' is not a known time zone",
    ),
    "a count that cannot be read": ([downscaled(downtime_replicas="few")], "'few' is not a number of replicas"),
    "annotations under an Environment": (
        [downscaled(uptime="always"), builders.obj("keda-py.dev/v1alpha1", "Environment", "dev", "shop")],
        "Deployment shop/web: has downscaler annotations, and its namespace has an Environment",
    ),
    "another version of KEDA": (
        [operator("--leader-elect", image="keda:2.17.1")],
        "is KEDA 2.17; keda-py is compared with 2.20 and 2.21",
    ),
    "an image without a version": ([operator("--leader-elect", image="keda:main")], "image tag 'main' does not tell"),
    "a flag that nobody knows": ([operator("--leader-elect", "--no-such=1")], "unknown flag --no-such"),
    "a variable that is not read": (
        [operator("--leader-elect", env={"RAW_METRICS_GRPC_PROTOCOL": "enabled"})],
        "RAW_METRICS_GRPC_PROTOCOL=enabled is not read",
    ),
    "an HPA under another name": (
        [watched(), owned_hpa("older-name")],
        "its HPA older-name is replaced by keda-hpa-web",
    ),
    "a metric under another name": ([watched(), owned_hpa("keda-hpa-web", "s0-other")], "s0-other becomes s0-cron-UTC"),
    "a webhook that fails closed": ([webhook("Fail")], "kubectl get validatingwebhookconfiguration keda-admission"),
}
FINE = {
    "annotations of the downscaler": (
        [downscaled(downtime="Mon-Fri 20:00-24:00 UTC", force_uptime="true")],
        "stand on 1 Deployment; keda-py obeys them with --downscaler-annotations",
    ),
    "the downscaler itself": (
        [downscaler("--include-resources=deployments,cronjobs", "--interval=60")],
        "--set 'environments.downscalerIncludeResources={deployments,cronjobs}'",
    ),
    "a ScaledObject that the downscaler has paused": (
        [marked(pausing(watched()), original_replicas="3")],
        "is paused by py-kube-downscaler now",
    ),
    "a CRD that Helm keeps": ([definition(HELM | KEEP)], "is kept when Helm release keda is uninstalled"),
    "a CRD of no release": ([definition({})], "uninstalling KEDA leaves it"),
    "an operator that is scaled to 0": ([operator(replicas=0)], "nothing of KEDA writes"),
    "an operator that leads by the Lease": (
        [operator("--leader-elect"), lease("keda-operator-x")],
        "leads by the Lease keda/operator.keda.sh, held by keda-operator-x",
    ),
    "a flag to carry over": ([operator("--leader-elect", "--k8s-cluster-name=prod")], "--k8s-cluster-name=prod"),
    "a flag without meaning": ([operator("--leader-elect", "--kube-api-qps=50")], "--kube-api-qps means nothing here"),
    "a variable to carry over": ([operator("--leader-elect", env={"WATCH_NAMESPACE": "a"})], "WATCH_NAMESPACE=a"),
    "KEDA's own APIService": ([api_service("keda", "keda-operator-metrics-apiserver")], "HPAs keep their replicas"),
    "an HPA that is taken over": ([watched(), owned_hpa("keda-hpa-web", NAMED_CRON)], "HPA keda-hpa-web is taken over"),
    "what is broken with KEDA, too": (
        [watched(minReplicaCount=3, maxReplicaCount=2, ready="False")],
        "(it is not Ready with KEDA either)",
    ),
}


def table(severity: str, cases: dict[str, tuple[list[Obj], str]]) -> list[object]:
    return [pytest.param(severity, *case, id=f"{name} {severity}") for name, case in cases.items()]


@pytest.mark.parametrize(
    ("severity", "bodies", "expected"),
    [*table("blocks", BLOCKS), *table("changes", CHANGES), *table("fine", FINE)],
)
async def test_each_thing_is_told(severity: str, bodies: list[Obj], expected: str) -> None:
    assert expected in told(await findings(*bodies), severity)


@pytest.mark.parametrize("bodies", [case[0] for case in FINE.values()], ids=list(FINE))
async def test_what_is_fine_asks_for_nothing_to_be_done_first(bodies: list[Obj]) -> None:
    assert {finding.severity.value for finding in await findings(*bodies)} == {"fine"}


async def test_a_missing_type_is_told_once_however_many_use_it() -> None:
    found = told(await findings(*(watched(CRON, UNKNOWN, name=f"web-{n}") for n in range(9))), "blocks")
    assert found.count("\n") == 0
    assert "web-4 and 4 more" in found


@pytest.mark.parametrize(
    "fine",
    [
        in_shop(CLUSTER_WIDE, **vault()),
        in_shop(CLUSTER_WIDE, **vault(authentication="token")),
        in_shop(**vault(credential={"serviceAccountName": "own"})),
        in_shop(**vault("http://vault", "token", credential={"token": "own"})),
        in_shop(**azure()),
        in_shop(podIdentity={"provider": "aws"}),
    ],
)
async def test_an_identity_that_goes_where_it_may_is_not_told(fine: Obj) -> None:
    assert not told(await findings(fine), "blocks")


async def test_the_worst_stands_first() -> None:
    found = await findings(webhook("Fail"), definition({}), watched(UNKNOWN))
    assert found[0].severity.value == "blocks"
    assert sorted(found, key=lambda one: list(type(one.severity)).index(one.severity)) == list(found)


@pytest.mark.parametrize("value", [["a"], {"a": "b"}, 7, None])
async def test_a_name_of_another_type_counts_as_missing(value: Any) -> None:
    crd = definition(HELM) | {"metadata": {"name": value, "annotations": value, "managedFields": value}}
    assert "Helm release" not in told(await findings(crd), "blocks")


@given(data=st.data())
@examples(60)
def test_no_manifest_however_broken_ends_the_check(data: st.DataObject) -> None:
    cases = [*BLOCKS.values(), *CHANGES.values(), *FINE.values()]
    bodies = data.draw(st.sampled_from(cases))[0]
    spoilt = [{key: broken(part, data.draw) for key, part in body.items()} | identity(body) for body in bodies]
    for found in asyncio.run(findings(*spoilt)):
        assert found.message


def identity(body: Obj) -> Obj:
    return {key: body[key] for key in ("apiVersion", "kind")}


def broken(value: Any, draw: Callable[..., Any]) -> Any:
    """Here and there something else than what belongs there."""
    if draw(st.integers(0, 9)) == 0:
        return draw(junk)
    match value:
        case dict():
            return {key: broken(one, draw) for key, one in value.items()}
        case list():
            return [broken(one, draw) for one in value]
        case _:
            return value


async def test_what_may_not_be_read_is_not_taken_for_nothing() -> None:
    blind = Installation(objects={}, version="v1.31.2", unread={"ScaledObject": "forbidden: may not list"})
    assert "ScaledObject: could not be looked at" in told(await check_migration(blind, read_keda_flags), "changes")


@pytest.mark.parametrize(("version", "expected"), [("v1.25.9", "needs 1.26"), ("v1.26.0", ""), ("v1.31.2-gke.1", "")])
async def test_a_cluster_that_is_too_old_blocks(version: str, expected: str) -> None:
    blocking = told(await check_migration(Installation(objects={}, version=version), read_keda_flags), "blocks")
    assert expected in blocking
    assert bool(blocking) is bool(expected)


async def test_a_query_within_the_time_that_the_installed_operator_allows_is_no_finding() -> None:
    """It was said to fail after 3 s, whatever the operator's Deployment says."""
    found = await findings(
        operator(env={"KEDA_HTTP_DEFAULT_TIMEOUT": "9000"}), watched({"type": "mysql", "metadata": SLOW})
    )
    assert "and fails here" not in told(found, "changes")


ADD_ON = {
    "type": "external-push",
    "metadata": {"scalerAddress": "keda-add-ons-http-external-scaler.keda:9090"},
}


async def test_a_user_of_kedas_http_add_on_is_told_of_the_way_without_a_proxy() -> None:
    found = await findings(watched(ADD_ON))
    assert "every request goes through its interceptor -> where only the first request" in told(found, "fine")


@pytest.mark.parametrize("waker", [True, False])
async def test_a_scaled_object_that_requests_wake_needs_a_waker(waker: bool) -> None:
    trigger = {"type": "request", "metadata": {"services": "web"}}
    scaled = builders.scaled_object(trigger, name="web", namespace="shop")
    deployment = builders.deployment("keda-waker", 2, namespace="keda")
    found = await findings(scaled, *([deployment] if waker else []))
    words = "ScaledObject shop/web: has a trigger for requests, and no waker is installed: the trigger fails"
    assert (words in told(found, "changes")) is not waker


@pytest.mark.parametrize("waker", [True, False])
async def test_an_environment_that_requests_wake_needs_a_waker(waker: bool) -> None:
    environment = builders.environment(namespace="shop", wakeOnRequest={"for": "2h"})
    deployment = builders.deployment("keda-waker", 2, namespace="keda")
    found = await findings(environment, *([deployment] if waker else []))
    assert ("Environment shop/dev: has wakeOnRequest, and no waker is installed" in told(found, "changes")) is not waker
