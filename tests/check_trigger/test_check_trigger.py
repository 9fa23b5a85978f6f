"""`keda-py check-trigger`: one trigger, built and read once, from files and from a cluster."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from keda_py.check_trigger.references import Reference, references_in, with_references
from keda_py.check_trigger.trial import TriggerTrial, try_triggers
from keda_py.cli import check_trigger as command
from keda_py.cli import main
from keda_py.core.spec import AS_WRITTEN
from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, TRIGGER_AUTHENTICATIONS, Obj, Resource
from keda_py.localkube.cluster import LocalCluster
from tests.builders import bare_scaled_object, deployment
from tests.definitions import DEFINITIONS
from tests.http_server import HttpServer, http_server
from tests.scalers.grpc.conftest import External, external_server

CRON = {
    "type": "cron",
    "metadata": {"timezone": "Etc/UTC", "start": "0 0 * * *", "end": "59 23 * * *", "desiredReplicas": "3"},
}
TOKEN = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "token"}, "stringData": {"token": "opensesame"}}
AUTHENTICATION = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "TriggerAuthentication",
    "metadata": {"name": "api", "namespace": "shop"},
    "spec": {"secretTargetRef": [{"parameter": "token", "name": "token", "key": "token"}]},
}


@pytest.fixture
async def external() -> AsyncIterator[External]:
    async with external_server() as external:
        yield external


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async def answer(request: web.Request) -> web.StreamResponse:
        allowed = request.headers.get("Authorization") == "Bearer opensesame"
        return web.json_response({"value": 12} if allowed else {}, status=200 if allowed else 401)

    async with http_server() as server:
        server.answers["/value"] = answer
        yield server


def app(*triggers: Obj) -> Obj:
    """A ScaledObject of another namespace than the default one."""
    return bare_scaled_object(*triggers, name="web", namespace="shop")


def asks(url: str) -> Obj:
    metadata = {"url": f"{url}/value", "valueLocation": "value", "targetValue": "5", "authMode": "bearer"}
    return {"type": "metrics-api", "metadata": metadata, "authenticationRef": {"name": "api"}}


async def trial(subject: Obj, *objects: Obj) -> list[TriggerTrial]:
    spec = AS_WRITTEN.read(subject)
    return await try_triggers(spec, range(len(spec.triggers)), objects)


async def test_each_trigger_is_built_and_read_with_the_credentials_of_the_files(server: HttpServer) -> None:
    first, second = await trial(app(CRON, asks(server.url)), AUTHENTICATION, TOKEN)
    assert [(one.value, one.active) for one in first.measured] == [(3.0, True)]
    (measured,) = second.measured
    assert (measured.metric, measured.value, measured.target) == ("s1-metric-api-value", 12.0, 5.0)
    assert second.works


async def test_a_credential_that_is_missing_is_named_and_what_came_of_it(server: HttpServer) -> None:
    (answer,) = await trial(app(asks(server.url)), AUTHENTICATION)
    assert not answer.works
    assert 'Secret "token"' in " ".join(answer.troubles).replace("secret", "Secret")


async def test_a_variable_that_the_container_lacks_is_named_with_the_container_and_the_key_that_asks_for_it(
    server: HttpServer,
) -> None:
    web = deployment("web")
    container = {"name": "app", "image": "x", "env": [{"name": "URL", "value": f"{server.url}/value"}]}
    web["spec"]["template"]["spec"]["containers"] = [container]
    web["metadata"]["namespace"] = "shop"
    needed = {
        "type": "rabbitmq",
        "metadata": {"hostFromEnv": "ADDRESS", "queueName": "q", "mode": "QueueLength", "value": "1"},
    }
    (answer,) = await trial(app(needed), web)
    assert 'hostFromEnv names the variable "ADDRESS", which is missing or empty in the container' in answer.error
    assert answer.troubles == (
        'container "app" has no "ADDRESS", which hostFromEnv names; what is read from it is empty until it is there',
    )
    optional = {"url": f"{server.url}/value", "valueLocation": "value", "targetValue": "5", "passwordFromEnv": "PASS"}
    (answer,) = await trial(app({"type": "metrics-api", "metadata": optional | {"authMode": "basic"}}), web)
    assert 'container "app" has no "PASS", which passwordFromEnv names' in " ".join(answer.troubles)


async def test_a_trigger_that_cannot_be_built_or_read_hides_no_other() -> None:
    unbuilt = {"type": "cron", "metadata": {**CRON["metadata"], "desiredReplicas": "many"}}
    unread = {"type": "cron", "metadata": {**CRON["metadata"], "timezone": "Mars/Base"}}
    first, second, third = await trial(app(unbuilt, unread, CRON))
    assert 'desiredReplicas: "many"' in first.error
    assert ["unknown time zone Mars/Base" in one.error for one in second.measured] == [True]
    assert third.works


async def test_a_resource_trigger_is_the_hpas_to_read() -> None:
    cpu = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}
    (answer,) = await trial(app(cpu))
    assert (answer.by_hpa, answer.works) == (("cpu Utilization 60",), True)


@pytest.mark.parametrize(("seconds", "told"), [(0.1, False), (2.0, True)])
async def test_a_source_that_needs_most_of_its_time_is_told_with_the_key_that_gives_it_more(
    external: External, seconds: float, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    external.values["jobs"], external.seconds = [{"metricName": "x", "metricValue": 7}], seconds / 2
    trigger = {"type": "external", "metadata": {"scalerAddress": external.address}}
    (answer,) = await trial(app(trigger))
    assert answer.works
    command._print([answer])
    said = " ".join(capsys.readouterr().out.split())
    assert ("where 3 s are the most: a longer one is set by `timeout` in the trigger's metadata" in said) is told


def test_references_are_found_at_any_depth() -> None:
    container = {
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "deep", "key": "a"}}}],
        "envFrom": [{"configMapRef": {"name": "all"}}],
    }
    found = set(references_in({"spec": {"template": {"spec": {"containers": [container]}}}}, "shop"))
    assert found == {Reference(SECRETS, "shop", "deep"), Reference(CONFIG_MAPS, "shop", "all")}


async def test_what_the_files_lack_is_fetched_and_what_that_refers_to_as_well() -> None:
    cluster = {(TRIGGER_AUTHENTICATIONS, "api"): AUTHENTICATION, (SECRETS, "token"): TOKEN}
    asked: list[tuple[Resource, str]] = []

    async def fetch(resource: Resource, namespace: str, name: str) -> Obj | None:
        asked.append((resource, name))
        return cluster.get((resource, name))

    objects = await with_references(app(asks("http://x")), [], "shop", fetch)
    assert {one["kind"] for one in objects} == {"TriggerAuthentication", "Secret"}
    assert (DEPLOYMENTS, "web") in asked


async def test_the_command_prints_json_with_credentials_from_a_cluster(
    server: HttpServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with LocalCluster() as cluster:
        await cluster.apply([*DEFINITIONS, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        await cluster.apply([AUTHENTICATION, {**TOKEN, "metadata": {"name": "token", "namespace": "shop"}}])
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig())
        (tmp_path / "app.yaml").write_text(yaml.safe_dump(app(asks(server.url))))
        files = [str(tmp_path / "app.yaml"), "--kubeconfig", str(tmp_path / "kubeconfig")]
        code = await asyncio.to_thread(main, ["check-trigger", *files, "-o", "json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert [one["value"] for one in json.loads(printed.out)[0]["measured"]] == [12.0]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--name", "other"], "the files have: web"),
        (["--trigger", "7"], "--trigger: 7 is too high; triggers are counted from 0 to 0"),
    ],
)
def test_wrong_usage_is_told(flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump(app(CRON)))
    assert main(["check-trigger", str(file), *flags]) == 2
    assert said in capsys.readouterr().err
