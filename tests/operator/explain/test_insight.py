"""The decision record as users read it: asked through the API server, and printed by `keda-py explain`."""

import asyncio
import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import orjson
import pytest
import yaml

from keda_py.cli import main
from keda_py.errors import Forbidden, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.kube.transport import Request
from keda_py.localkube.model.calls import User
from tests.builders import (
    GROUP,
    a_namespace,
    cron,
    deployment,
    keda_defaults,
    metrics_api,
    obj,
    scaled_job,
    scaled_object,
    usage,
)
from tests.operator.environments.builders import labelled
from tests.worlds.world import World

NAMESPACE = "/apis/insight.keda-py.dev/v1alpha1/namespaces/default"
ROOT = f"{NAMESPACE}/scaledobjects"


async def insight(world: World, name: str = "app", resource: str = "scaledobjects") -> dict[str, Any]:
    return await world.client.send(Request(method="GET", path=f"{NAMESPACE}/{resource}/{name}"))


async def explain(world: World, *arguments: str) -> tuple[int, str]:
    """Exit code and everything printed, of the command in a thread and a loop of its own: a process is half a second."""
    printed = io.BytesIO()
    with io.TextIOWrapper(printed, "utf-8", write_through=True) as out, redirect_stdout(out), redirect_stderr(out):
        code = await asyncio.to_thread(exit_code, ["explain", "--kubeconfig", str(world.kubeconfig), *arguments])
        return code, printed.getvalue().decode()


def exit_code(command: list[str]) -> int:
    """Of `keda-py` with these words."""
    try:
        return main(command)
    except SystemExit as left:  # argparse does so
        return int(str(left.code))


def reasons(body: dict[str, Any]) -> list[str]:
    return [entry["reason"] for entry in body["changes"]]


@pytest.fixture
async def slept(world: World) -> World:
    """A workload that woke, cooled down and went to sleep again."""
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=60))
    await world.seconds(20)
    world.jobs(3)
    await world.seconds(20)
    world.jobs(0)
    await world.seconds(90)
    return world


async def test_the_record_tells_why_it_woke_why_it_waited_and_why_it_slept(slept: World) -> None:
    body = await insight(slept)
    assert reasons(body) == ["Inactive", "Activated", "Active", "CoolingDown", "Deactivated", "Inactive"]
    woke, cooling, asleep = body["changes"][1], body["changes"][3], body["changes"][4]
    assert woke["replicas"] == {"before": 0, "after": 1}
    assert woke["triggers"] == [{"metric": "s0-metric-api-value", "value": 3, "active": True}]
    assert 45 < cooling["cooldownLeftSeconds"] < 60
    assert cooling["nextChange"] == asleep["time"]
    assert asleep["replicas"] == {"before": 1, "after": 0}
    assert body["last"]["reason"] == "Inactive"
    assert body["now"]["time"] < body["now"]["nextPoll"]


async def test_explain_tells_it_in_words(slept: World) -> None:
    code, text = await explain(slept, "default/app")
    assert code == 0
    assert text.startswith("default/app: 0 replicas, Inactive: nothing to do\n")
    assert "woke, because s0-metric-api-value is active" in text
    assert "nothing to do; cooling down, 5" in text
    assert "went to sleep" in text
    assert "1 -> 0" in text
    assert ": poll" in text


async def test_explain_prints_what_was_served_for_programs(slept: World) -> None:
    code, text = await explain(slept, "default/app", "--output", "json")
    assert code == 0
    assert orjson.loads(text) == await insight(slept)


async def test_what_comes_next_is_known_in_advance(world: World) -> None:
    evening = scaled_object(cron("0 13 * * *", "0 19 * * *", 2), pollingInterval=30, cooldownPeriod=300)
    await world.create(deployment(), evening)
    await world.seconds(5)
    assert (await insight(world))["last"]["nextChange"] == "2026-11-20T13:00:00Z"
    _, text = await explain(world, "app")
    assert "next: 2026-11-20 13:00:00 UTC (in 59m55s): a schedule changes" in text


async def test_a_source_that_fails_shows_its_error_its_fallback_and_the_failures_counted(world: World) -> None:
    fallback = {"failureThreshold": 2, "replicas": 3}
    await world.create(deployment(), scaled_object(metrics_api(world.url), fallback=fallback))
    del world.server.answers["/jobs"]
    await world.seconds(5)
    body = await insight(world)
    trigger = body["last"]["triggers"][0]
    assert trigger["fallback"] is True
    assert trigger["failures"] > 2
    assert "404" in trigger["error"]
    assert "AwaitingFallback" in reasons(body)


async def test_a_formulas_result_stands_beside_the_values_it_was_made_of(world: World) -> None:
    world.jobs(3)
    modifiers = {"scalingModifiers": {"formula": "queue * 2", "target": "5"}}
    await world.create(deployment(), scaled_object(metrics_api(world.url, name="queue"), advanced=modifiers))
    await world.seconds(2)
    last = (await insight(world))["last"]
    assert last["formula"] == 6
    assert last["triggers"] == [{"metric": "s0-metric-api-value", "name": "queue", "value": 3, "active": True}]


async def test_a_paused_object_is_explained_as_paused(slept: World) -> None:
    await slept.annotate({"autoscaling.keda.sh/paused": "true"})
    await slept.seconds(1)
    code, text = await explain(slept, "default/app")
    assert code == 0
    assert text.startswith("default/app: paused by annotation autoscaling.keda.sh/paused")


async def test_an_object_that_is_wrong_is_explained_with_its_error(world: World) -> None:
    await world.create(deployment(), scaled_object({"type": "no-such-type", "metadata": {}}))
    await world.seconds(1)
    _, text = await explain(world, "default/app")
    assert "no scaler found for type: no-such-type" in text


async def test_of_an_object_that_is_gone_nothing_is_told(slept: World) -> None:
    await slept.delete(SCALED_OBJECTS)
    await slept.seconds(2)
    with pytest.raises(NotFound):
        await insight(slept)
    code, text = await explain(slept, "default/app")
    assert (code, "there is no ScaledObject 'app' in namespace 'default'" in text) == (1, True)
    assert slept.operator.assembly is not None
    assert len(slept.operator.assembly.parts.shared.record) == 0


async def test_a_name_without_a_namespace_is_looked_for_in_that_of_the_context(quiet_world: World) -> None:
    config = yaml.safe_load(quiet_world.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "elsewhere"
    quiet_world.kubeconfig.write_text(yaml.safe_dump(config))
    await quiet_world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    code, text = await explain(quiet_world, "environment/dev")
    assert (code, "in namespace 'elsewhere'" in text) == (2, True)


async def test_without_the_api_service_explain_names_the_remedy(quiet_world: World) -> None:
    code, text = await explain(quiet_world, "default/app")
    assert code == 2
    assert "v1alpha1.insight.keda-py.dev" in text
    assert "--register" in text


async def test_while_no_operator_answers_explain_says_so_and_where_to_look(slept: World) -> None:
    await slept.operator.kill()
    code, text = await explain(slept, "default/app")
    assert code == 1
    assert "the operator, which knows it, does not answer the API server" in text
    assert "kubectl get apiservice v1alpha1.insight.keda-py.dev" in text


async def test_who_may_read_an_insight_is_for_rbac_to_say(slept: World) -> None:
    own = slept.kubeconfig.with_name("eve")
    own.write_text(slept.cluster.kubeconfig(User(name="eve")))
    async with KubeClient(slept.clock, str(own)) as eve:
        with pytest.raises(Forbidden, match="scaledobjects.insight.keda-py.dev"):
            await eve.send(Request(method="GET", path=f"{ROOT}/app"))


@pytest.fixture
async def worked(world: World) -> World:
    """A ScaledJob of which two Jobs run, and one of the same name as the ScaledObject beside it."""
    world.jobs(0)
    slow = {"pollingInterval": 10, "maxReplicaCount": 3, "annotations": usage(run_seconds="40")}
    manifest = scaled_job(metrics_api(world.url), name="app", namespace="default", **slow)
    await world.client.create(SCALED_JOBS, manifest)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(15)
    world.jobs(10)
    await world.seconds(20)
    return world


async def test_the_record_of_a_scaledjob_tells_what_was_created_and_why_no_more(worked: World) -> None:
    body = await insight(worked, resource="scaledjobs")
    assert body["kind"] == "ScaledJobInsight"
    assert reasons(body) == ["Inactive", "JobsCreated", "EnoughJobs"]
    created = body["changes"][1]
    assert created["jobs"] == {"running": 0, "pending": 0, "created": 2}
    assert created["triggers"] == [{"metric": "s0-metric-api-value", "value": 10, "active": True}]
    assert body["last"]["jobs"]["running"] == 2
    assert body["now"]["time"] <= body["now"]["nextPoll"]


async def test_a_scaledjob_and_a_scaledobject_of_one_name_have_records_of_their_own(worked: World) -> None:
    assert reasons(await insight(worked))[0] == "Inactive"
    assert "replicas" in (await insight(worked))["last"]
    assert "jobs" in (await insight(worked, resource="scaledjobs"))["last"]


async def test_explain_tells_of_a_scaledjob_by_its_kind(worked: World) -> None:
    code, text = await explain(worked, "scaledjob/default/app")
    assert code == 0
    assert text.startswith("default/app: 2 Jobs unfinished, EnoughJobs: there are enough Jobs for what waits")
    assert "0 -> 2" in text
    assert ": poll" in text


async def test_a_scaledjob_whose_source_fails_and_one_that_is_paused_are_explained(worked: World) -> None:
    del worked.server.answers["/jobs"]
    await worked.seconds(15)
    _, text = await explain(worked, "sj/default/app")
    assert "TriggersFail: creates no Jobs: triggers fail" in text
    assert "404" in text
    await worked.patch(SCALED_JOBS, {"metadata": {"annotations": {"autoscaling.keda.sh/paused": "true"}}})
    await worked.seconds(1)
    _, text = await explain(worked, "sj/default/app")
    assert text.startswith("default/app: paused by annotation")


async def test_jobs_that_the_api_server_refuses_are_explained_with_its_words(worked: World) -> None:
    broken = {"spec": {"jobTargetRef": {"parallelism": -1}}}
    await worked.patch(SCALED_JOBS, broken)
    await worked.seconds(15)
    last = (await insight(worked, resource="scaledjobs"))["last"]
    assert (last["reason"], last["jobs"]["created"], last["jobs"]["refused"]) == ("JobCreateFailed", 0, 2)
    assert "parallelism" in last["error"]


async def test_of_a_scaledjob_that_is_gone_nothing_is_told(worked: World) -> None:
    await worked.client.delete(SCALED_JOBS.named("default", "app"))
    await worked.seconds(2)
    with pytest.raises(NotFound, match='scaledjobs.insight.keda-py.dev "app" not found'):
        await insight(worked, resource="scaledjobs")


async def test_a_kind_that_has_no_record_is_refused_with_the_remedy(quiet_world: World) -> None:
    code, text = await explain(quiet_world, "pod/default/app")
    assert code == 2
    assert "kind 'pod' cannot be explained; write one of scaledobject, scaledjob, environment, override" in text


async def test_an_unknown_name_lists_those_that_there_are_and_the_one_that_may_be_meant(world: World) -> None:
    other = scaled_object(cron(), name="worker")
    other["spec"]["scaleTargetRef"]["name"] = "app"
    await world.create(other, *(scaled_object(cron(), name=name) for name in ("checkout", "mailer")))
    await world.seconds(2)
    code, text = await explain(world, "default/chekout")
    there = "there is no ScaledObject 'chekout' in namespace 'default': there are checkout, mailer, worker"
    assert (code, there in text.replace("\n", " ")) == (1, True)
    _, text = await explain(world, "override/default/evening")
    assert "there is no Override 'evening' in namespace 'default', which has none" in text.replace("\n", " ")
    _, text = await explain(world, "default/app")
    assert "the workload of that name is scaled by ScaledObject worker" in text.replace("\n", " ")


async def test_what_a_schedule_does_that_may_not_be_meant_is_told(world: World) -> None:
    weekend = cron("0 8 * * 1-5", "0 1 * * 1-5")
    await world.create(deployment(), scaled_object(weekend), deployment("quiet"))
    ignoring = scaled_object(weekend, name="quiet")
    ignoring["metadata"]["annotations"] = {"keda-py.dev/ignore": "window-over-weekend"}
    await world.create(ignoring)
    await world.client.create(SCALED_JOBS, scaled_job(weekend, namespace="default"))
    await world.seconds(5)
    [told] = (await insight(world))["troubles"]
    assert told.startswith("spec.triggers[0].metadata.end: Fri 08:00 to Mon 01:00 is one opening of 65 h")
    assert told.endswith("[window-over-weekend]")
    assert (await insight(world, "work", "scaledjobs"))["troubles"] == [told]
    assert (await insight(world, "quiet"))["troubles"] == []
    assert "Fri 08:00 to Mon 01:00" in (await explain(world, "app"))[1]


async def test_values_of_defaults_are_named_with_where_they_are_from(quiet_world: World) -> None:
    world = quiet_world
    world.operator.flags = {"keda-defaults": "true", "default-values": '{"cooldownPeriod": 120}'}
    await world.operator.start()
    await world.create(keda_defaults(pollingInterval=60))
    body = scaled_object(metrics_api(world.url), pollingInterval=None, cooldownPeriod=None)
    await world.create(deployment(), body)
    await world.seconds(10)
    code, page = await explain(world, "app")
    assert code == 0
    assert "pollingInterval 60: from KedaDefaults team in this namespace" in page
    assert "cooldownPeriod 120: from the defaults of this installation" in page


async def test_what_sleeps_under_a_policy_names_it_and_the_labels_that_it_selects_by(quiet_world: World) -> None:
    world = quiet_world
    world.operator.flags = {"cluster-environments": "true"}
    await world.operator.start()
    hours = [{"days": "Mon", "from": "00:00", "to": "00:01"}]
    template = {"calendar": {"timeZone": "UTC", "hours": hours}, "grace": "0s"}
    spec = {"namespaceSelector": {"matchLabels": {"sleeps": "yes"}}, "template": template}
    await world.create(
        labelled(a_namespace("shop"), sleeps="yes"), obj(GROUP, "ClusterEnvironment", "office", spec=spec)
    )
    await world.create(deployment("web", 1), deployment(), scaled_object(metrics_api(world.url)), namespace="shop")
    await world.seconds(120)
    why = "is covered by ClusterEnvironment office, which writes its Environment: it selects namespaces with sleeps=yes"
    for about in ("environment/shop/office", "deployment/shop/web", "scaledobject/shop/app"):
        code, page = await explain(world, about)
        assert code == 0, page
        assert f"policy: namespace shop {why}" in " ".join(page.split()), about
