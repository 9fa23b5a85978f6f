"""What somebody on call finds with kubectl and `keda-py explain`: each situation names what is wrong, and where."""

import logging
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from keda_py.explanation.page import print_explanation
from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SECRETS, Obj
from keda_py.kube.transport import Request
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.model.calls import User
from tests.builders import authentication, cron, deployment, from_key, metrics_api, scaled_object, secret
from tests.http_server import http_server
from tests.operator.cluster.test_blindness import BINDINGS, CLUSTER_ROLES, EVERYTHING
from tests.worlds.world import HPA, World, open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

INSIGHT = "/apis/insight.keda-py.dev/v1alpha1/namespaces/{}/scaledobjects/app"
AUTHENTICATION = authentication("creds", secretTargetRef=[from_key("token", "queue-token")])
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "operator"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operator"},
    "subjects": [{"kind": "User", "name": "operator", "apiGroup": "rbac.authorization.k8s.io"}],
}

Explain = Callable[[Obj], str]


@pytest.fixture
def world(room: World) -> World:
    return room


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    def tell(insight: Obj) -> str:
        capsys.readouterr()
        print_explanation(insight)
        return capsys.readouterr().out

    return tell


async def insight(world: World) -> Obj:
    return await world.client.send(Request(method="GET", path=INSIGHT.format(world.namespace)))


def warnings(caplog: pytest.LogCaptureFixture, logger: str = "keda_py.") -> list[str]:
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    return [one.message for one in told if one.name.startswith(logger) and "watchdog" not in one.name]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_source_that_is_down(world: World, explain: Explain, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    await world.create(deployment(), scaled_object(metrics_api(f"http://127.0.0.1:{closed_port()}/jobs")))
    await world.seconds(60)
    text = explain(await insight(world))
    assert "TriggersFail: stays as it is: triggers fail and there is no fallback" in text
    assert "Connection refused" in text
    assert any(reason == "KEDAScalerFailed" and "Connection refused" in note for reason, note in world.notes())
    assert any("Connection refused" in note for note in world.status()["kedaPy"]["notes"])
    assert warnings(caplog) == ["trigger cannot be read"]


async def test_a_source_that_comes_back_is_one_warning_and_one_line_more(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    del world.server.answers["/jobs"]
    await world.seconds(60)
    world.jobs(0)
    await world.seconds(60)
    assert warnings(caplog) == ["trigger cannot be read"]
    assert "trigger can be read again" in [record.message for record in caplog.records if record.levelname == "INFO"]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("queue / (queue - queue)", "the formula gives inf, which counts as 0"),
        ("queue > 1 ? nil : 1", "the formula must give a number"),
    ],
)
async def test_a_formula_without_a_number(
    world: World, explain: Explain, caplog: pytest.LogCaptureFixture, formula: str, said: str
) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    world.jobs(3)
    modifiers = {"scalingModifiers": {"formula": formula, "target": "5"}}
    await world.create(deployment(), scaled_object(metrics_api(world.url, name="queue"), advanced=modifiers))
    await world.seconds(30)
    text = explain(await insight(world))
    assert said in text
    (event,) = (note for reason, note in world.notes() if reason == "KEDAMetricSourceFailed")
    assert said in event
    assert event in world.status()["kedaPy"]["notes"]
    odd = [vars(record) for record in caplog.records if record.message == "metric has an odd value"]
    assert [(one["metric"], said in one["note"]) for one in odd] == [("composite-metric", True)]


async def test_a_negative_value_is_told_once_when_it_begins_and_once_when_it_ends(
    world: World, explain: Explain, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "keda_py.operator.scaled_objects.look")
    world.jobs(-4)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(30)
    assert "s0-metric-api-value: -4 counts as 0" in explain(await insight(world))
    world.jobs(4)
    await world.seconds(30)
    told = [record.message for record in caplog.records if "odd value" in record.message]
    assert told == ["metric has an odd value", "metric has no odd value any more"]
    assert [note for _, note in world.notes() if "counts as 0" in note] == ["s0-metric-api-value: -4 counts as 0"]


async def test_a_value_that_is_no_number_is_explained_all_the_same(world: World, explain: Explain) -> None:
    world.server.answers["/jobs"] = "jobs NaN\n"
    trigger = metrics_api(world.url)
    trigger["metadata"] |= {"format": "prometheus", "valueLocation": "jobs"}
    await world.create(deployment(), scaled_object(trigger))
    await world.seconds(5)
    assert "s0-metric-api-jobs: nan counts as 0" in explain(await insight(world))


async def test_a_target_that_is_missing(world: World, explain: Explain) -> None:
    await world.create(scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    assert 'deployments.apps "app" not found' in world.message("Ready")
    assert 'not scaled: ScaledObject doesn\'t have correct scaleTargetRef specification: deployments.apps "app"' in (
        explain(await insight(world)).replace("\n", "")
    )


async def test_a_pause(world: World, explain: Explain) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.annotate({"autoscaling.keda.sh/paused": "true"})
    await world.seconds(5)
    assert "paused by annotation autoscaling.keda.sh/paused" in explain(await insight(world))
    assert world.status()["kedaPy"]["reason"] == "Paused"


async def test_a_fallback_says_that_it_stands_in(
    world: World, explain: Explain, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    fallback = {"failureThreshold": 2, "replicas": 3}
    await world.create(deployment(), scaled_object(metrics_api(world.url), fallback=fallback))
    await world.seconds(5)
    del world.server.answers["/jobs"]
    await world.seconds(60)
    text = explain(await insight(world))
    assert "Active: stays awake; the HPA scales by the fallback of s0-metric-api-value" in text
    assert "in fallback (error requesting metrics endpoint: /jobs: api returned 404)" in text.replace("\n", "")
    assert warnings(caplog) == ["trigger cannot be read", "fallback is active"]
    world.jobs(0)
    await world.seconds(5)
    ended = [record.message for record in caplog.records if record.levelname == "INFO"]
    assert {"trigger can be read again", "fallback is no longer active"} <= set(ended)


async def test_a_cooldown_that_runs(world: World, explain: Explain) -> None:
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
    await world.seconds(10)
    world.jobs(0)
    await world.seconds(60)
    text = explain(await insight(world))
    assert "CoolingDown: nothing to do; cooling down, 4m" in text
    assert "the cooldown is over; sleep, unless there is something to do" in text


async def test_a_window_that_is_closed(alone: World, explain: Explain) -> None:
    world = alone
    await world.create(deployment(), scaled_object(cron("0 18 * * *", "0 19 * * *", 2)))
    await world.seconds(30)
    assert "next: 2026-11-20 18:00:00 UTC (in 5h59m30s): a schedule changes" in explain(await insight(world))


async def test_an_hpa_that_is_deleted_is_made_again_and_said_so(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    caplog.clear()
    await world.delete(HORIZONTAL_POD_AUTOSCALERS, HPA)
    await world.seconds(5)
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)
    assert [vars(one)["hpa"] for one in caplog.records if one.message == "created hpa"] == [HPA]


async def test_a_secret_that_is_missing_is_named_where_the_scaler_fails_for_it(world: World, explain: Explain) -> None:
    await world.create(AUTHENTICATION)
    trigger = metrics_api(world.url, authenticationRef={"name": "creds"})
    trigger["metadata"]["authMode"] = "bearer"
    await world.create(deployment(), scaled_object(trigger))
    await world.seconds(5)
    missing = 'trigger 0: secret "queue-token" is missing; what is read from it is empty until it is there'
    assert world.message("Ready").endswith(missing)
    assert any(note.endswith(missing) for reason, note in world.notes() if reason == "ScaledObjectCheckFailed")
    text = explain(await insight(world))
    assert missing in text.replace("\n", " ")
    await world.client.create(SECRETS, secret("queue-token", world.namespace, other="sesame"))
    await world.seconds(5)
    assert 'key of a secret "queue-token" has no "token"' not in world.message("Ready")
    assert 'secret "queue-token" has no "token"' in world.message("Ready")
    assert "sesame" not in explain(await insight(world))


async def test_a_right_that_is_missing_is_named_with_verb_resource_and_user(
    tmp_path: Path, explain: Explain, caplog: pytest.LogCaptureFixture
) -> None:
    options = ClusterOptions(enforce_rbac=True)
    async with http_server() as server, open_world(tmp_path, server, options=options) as world:
        world.operator.user = User(name="operator", groups=())
        rules = [
            {**EVERYTHING, "apiGroups": ["keda.sh", "autoscaling", "events.k8s.io", "apiregistration.k8s.io", ""]},
            {**EVERYTHING, "apiGroups": ["admissionregistration.k8s.io", "coordination.k8s.io", "batch"]},
            {**EVERYTHING, "apiGroups": ["authorization.k8s.io", "authentication.k8s.io", "eventing.keda.sh"]},
            {**EVERYTHING, "apiGroups": ["apps"], "verbs": ["get", "list", "watch"]},
        ]
        await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "operator"}, "rules": rules} | ROLE)
        await world.client.create(BINDINGS, BINDING)
        world.jobs(3)
        await world.operator.start()
        await world.create(deployment(), scaled_object(metrics_api(world.url)))
        await world.seconds(20)
        note = next(note for reason, note in world.notes() if reason == "KEDAScaleTargetActivationFailed")
        assert 'User "operator" cannot' in note
        assert "scale" in note
        assert 'User "operator" cannot' in explain(await insight(world)).replace("\n", " ")
        assert warnings(caplog, "keda_py.operator.scaled_objects.look") == ["target cannot be read or scaled"]


async def test_replicas_that_cannot_be_read(world: World, explain: Explain) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    await world.delete(DEPLOYMENTS)
    await world.seconds(5)
    text = explain(await insight(world)).replace("\n", " ")
    assert "the replicas could not be read, so nothing was done" in text
    assert 'deployments.apps "app" not found' in text
