"""What `keda-py explain` finds in the cluster beside the operator: the HPA's steps, who set the count, all objects."""

import asyncio
import signal
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from keda_py.apis.environments.environment import Environment
from keda_py.core.environment.spec import build_environment
from keda_py.core.hpa.rescale_note import REASON
from keda_py.explanation.evidence import ByHand, Evidence, Step, count_of, gather, map_steps, who_set_the_count
from keda_py.explanation.overview import line_of, overview
from keda_py.explanation.page import explanation, headline
from keda_py.explanation.rulers import Rulers
from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from keda_py.kube.transport import Request
from keda_py.terminal.times import Times
from tests.builders import cron, deployment, environment, metrics_api, scaled_object
from tests.operator.explain.test_insight import explain, insight
from tests.worlds.world import NOON, World

CREATED, LATER = "2026-11-20T08:00:00Z", "2026-11-20T11:00:00Z"
ADDRESS = "http://source.shop.svc.cluster.local:8080/api/v1/queues/orders"


def live_workload(manager: str, *, time: str = LATER) -> dict[str, Any]:
    owned = {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    other = {"manager": "argocd", "operation": "Apply", "time": LATER, "fieldsV1": {"f:spec": {"f:template": {}}}}
    return {"metadata": {"creationTimestamp": CREATED, "managedFields": [other, owned]}}


@pytest.mark.parametrize("manager", ["keda-py", "keda", "kube-controller-manager"])
def test_a_count_that_autoscaling_set_was_not_set_by_hand(manager: str) -> None:
    assert who_set_the_count(live_workload(manager)) is None


def test_a_count_set_by_hand_names_who_and_when() -> None:
    assert who_set_the_count(live_workload("kubectl")) == ByHand(
        manager="kubectl", at=datetime(2026, 11, 20, 11, tzinfo=UTC)
    )


def test_the_count_with_which_a_workload_was_created_was_not_set_by_hand() -> None:
    assert who_set_the_count(live_workload("kubectl-create", time=CREATED)) is None
    assert who_set_the_count({}) is None


def test_events_that_are_not_written_as_the_hpa_controller_writes_are_left_out() -> None:
    note = "New size: 3; reason: memory resource utilization (percentage of request) above target"
    good = {"reason": REASON, "message": note, "lastTimestamp": LATER}
    bad = [{**good, "message": "New size: many"}, {**good, "lastTimestamp": None}, {**good, "reason": "Other"}, {}]
    assert [(step.size, step.metric, step.why) for step in map_steps([*bad, good])] == [(3, "memory", "above target")]


async def test_steps_of_the_hpa_are_told_with_the_metric_that_caused_them(world: World) -> None:
    world.jobs(12)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(60)
    assert world.replicas() > 1
    _, text = await explain(world, "default/app")
    (step,) = [line for line in text.splitlines() if "  HPA  " in line][:1]
    assert f"-> {world.replicas()}" in step
    assert "s0-metric-api-value" in step
    assert "scaled by the HPA: above target" in step


async def test_a_change_by_hand_is_told_with_its_author(world: World) -> None:
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(30)
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}, "spec": {"replicas": 7}}
    path = DEPLOYMENTS.named("default", "app").path
    apply = {"Content-Type": "application/apply-patch+yaml"}
    query = {"fieldManager": "jane", "force": "true"}
    await world.client.send(Request(method="PATCH", path=path, query=query, body=body, headers=apply))
    _, text = await explain(world, "default/app")
    assert "the count was last set by jane at 12:00:30 UTC, by hand" in text


async def test_the_count_is_that_of_the_workload_and_not_that_of_the_last_poll(world: World) -> None:
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=300))
    await world.seconds(10)
    before = world.replicas()
    await world.client.patch(DEPLOYMENTS.named("default", "app"), {"spec": {"replicas": before + 4}})
    _, text = await explain(world, "default/app")
    assert text.startswith(f"default/app: {before + 4} replicas, Activated: woke")


@pytest.mark.parametrize("count", [None, True, "7", -1, 2.5])
def test_a_count_that_no_workload_has_is_left_out(count: object) -> None:
    assert count_of({"spec": {"replicas": count}}) is None
    assert count_of({"spec": []}) is None


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("../../secrets/root", {"group": "apps", "version": "v1", "resource": "deployments"}),
        ("app", {"group": "apps", "version": "v1", "resource": "../../../api/v1/namespaces/x/services/y/proxy"}),
    ],
    ids=["name", "kind"],
)
async def test_a_status_that_leads_to_another_path_is_not_followed(
    world: World, target: str, kind: dict[str, str]
) -> None:
    manifest = scaled_object(metrics_api(world.url))
    manifest["spec"]["scaleTargetRef"]["name"] = target
    await world.create(manifest)
    await world.seconds(2)
    path = SCALED_OBJECTS.named("default", "app", "status")
    await world.client.patch(path, {"status": {"scaleTargetGVKR": {"kind": "x", **kind}}})
    asked = {"kind": "ScaledObjectInsight", "metadata": {"namespace": "default", "name": "app"}}
    found = await gather(world.client, asked)
    assert found.manifest is not None
    assert (found.by_hand, found.unread) == (None, ())


async def test_without_the_rights_to_look_on_explain_says_what_is_not_shown(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    page = explanation(await insight(world), Evidence(unread=("events", "deployments"))).plain
    assert "not shown, for want of the right to read them: events, deployments" in page


def test_what_is_wrong_is_told_before_that_it_is_paused() -> None:
    conditions = [
        {"type": "Ready", "status": "False", "message": "no scaler found for type: crom"},
        {"type": "Paused", "status": "True"},
    ]
    assert headline({"conditions": conditions, "now": {}}, Times(now=datetime(2026, 11, 20, tzinfo=UTC))).startswith(
        "not scaled: no scaler found for type: crom; besides it is paused by annotation"
    )


def test_what_an_environment_cannot_put_to_sleep_is_not_said_to_be_paused_by_an_annotation() -> None:
    """While the count cannot be written, the status has no `ruledBy`."""
    message = "ScaledObject is paused: asleep by environment nights until 2026-11-21T07:00:00Z (its own hours)"
    conditions = [
        {"type": "Ready", "status": "False", "message": "web must keep one replica"},
        {"type": "Paused", "status": "True", "message": message},
    ]
    assert headline({"conditions": conditions, "now": {}}, Times(now=datetime(2026, 11, 20, tzinfo=UTC))) == (
        "not scaled: web must keep one replica; besides it is asleep by environment nights until tomorrow 07:00 UTC "
        "(its own hours); nothing is read and nothing is scaled until then"
    )


def test_the_end_of_a_pause_is_told() -> None:
    conditions = [{"type": "Paused", "status": "True", "message": "ScaledObject is paused: until 2026-11-20T07:00:00Z"}]
    assert headline({"conditions": conditions, "now": {}}, Times(now=datetime(2026, 11, 20, tzinfo=UTC))) == (
        "paused by annotation keda-py.dev/paused-until, until 07:00 UTC; "
        "nothing is read and nothing is scaled until then"
    )


def page(width: int, manifest: dict[str, Any] | None = None) -> list[str]:
    trigger = {"metric": "s0-metric-api-value", "active": False, "error": f"cannot connect to {ADDRESS}"}
    entry = {"time": LATER, "reason": "TriggersFail", "triggers": [trigger], "replicas": {"before": 1, "after": 1}}
    body = {
        "metadata": {"namespace": "shop", "name": "checkout"},
        "now": {"time": LATER, "nextPoll": LATER},
        "conditions": [],
        "last": entry,
        "changes": [{**entry, "nextChange": "2026-11-20T13:00:00Z"}],
    }
    steps = [Step(at=NOON, size=3, metric="memory\x1b[31m", why="above target")]
    return explanation(body, Evidence(manifest=manifest, steps=steps), width).plain.splitlines()


def test_at_eighty_columns_the_table_of_changes_keeps_time_reason_count_and_why() -> None:
    lines = page(80)
    table = lines[lines.index("changes") + 1 :]
    assert table[0].split("  ")[0] == "Time (UTC)"
    assert table[0].endswith("Why")
    assert all(len(line) <= 80 for line in lines if ADDRESS not in line)
    assert any(ADDRESS in line for line in lines)


def test_times_stand_in_the_own_zone_beside_utc() -> None:
    lines = page(200, scaled_object(cron(timezone="Asia/Seoul")))
    assert "next: 2026-11-20 20:00:00 KST, 11:00:00 UTC (in 0s): poll" in lines
    (row,) = [line for line in lines if "-> 3" in line]
    assert row.startswith("2026-11-20 21:00:00  2026-11-20 12:00:00  HPA")


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    assert "\x1b" not in "".join(page(200))


@pytest.fixture
async def two(world: World) -> World:
    """One that is busy, and one that is broken."""
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    broken = scaled_object({"type": "no-such-type", "metadata": {}})
    broken["metadata"]["name"] = "broken"
    await world.create(broken)
    await world.seconds(10)
    return world


async def test_without_a_name_each_object_is_a_line(two: World) -> None:
    code, text = await explain(two)
    assert code == 0
    heading, *rows = text.splitlines()
    assert heading.split() == ["Name", "State", "Since", "Next", "Why", "Values"]
    assert [row.split()[:2] for row in rows] == [["app", "awake"], ["broken", "broken"]]
    assert "no scaler found for type: no-such-type" in rows[1]


async def test_all_namespaces_are_shown_with_their_names(two: World) -> None:
    _, text = await explain(two, "-A")
    assert [row.split()[0] for row in text.splitlines()[1:]] == ["default/app", "default/broken"]
    _, empty = await explain(two, "-n", "kube-system")
    assert empty == "no ScaledObject and no ScaledJob here\n"
    code, _ = await explain(two, "-A", "default/app")
    assert code == 2


async def test_all_objects_are_given_to_programs(two: World) -> None:
    _, text = await explain(two, "-A", "-o", "json")
    app, broken = orjson.loads(text)
    assert {**app, "since": ""} == {
        "kind": "ScaledObject",
        "namespace": "default",
        "name": "app",
        "state": "awake",
        "reason": "Active",
        "since": "",
        "why": "Active",
        "values": {"s0-metric-api-value": "3"},
    }
    assert broken["state"] == "broken"


def test_the_line_of_an_object_says_when_what_comes_next() -> None:
    live = scaled_object(cron("30 8 * * *", "30 19 * * *", timezone="Asia/Seoul"))
    told = {"reason": "Inactive", "since": "2026-11-20T10:35:00Z", "nextChange": "2026-11-20T23:30:00Z"}
    live["status"] = {"kedaPy": told, "conditions": [{"type": "Ready", "status": "True"}]}
    text = overview([line_of(live, Times(now=NOON))], 120).plain.splitlines()[-1]
    cells = [cell.strip() for cell in text.split("  ") if cell]
    assert cells == ["app", "asleep", "1 h 25 min ago", "in 11 h 30 min", "Inactive"]
    assert line_of(live, Times(now=NOON + timedelta(days=1))).next is None


@pytest.mark.parametrize(
    ("counts", "state"),
    [({}, "asleep"), ({"minReplicaCount": 2}, "idle"), ({"minReplicaCount": 2, "idleReplicaCount": 0}, "asleep")],
    ids=["min 0", "min 2", "idle count 0"],
)
def test_only_what_rests_at_zero_is_called_asleep(counts: dict[str, int], state: str) -> None:
    live = scaled_object(cron(), **counts)
    live["status"] = {"kedaPy": {"reason": "Inactive"}, "conditions": [{"type": "Ready", "status": "True"}]}
    assert line_of(live, Times(now=NOON)).state == state


def test_in_a_narrow_overview_the_values_go_and_a_long_name_is_cut_so_that_since_and_next_stay() -> None:
    live = scaled_object(cron(timezone="Asia/Seoul"), name="some-application-develop-scaledobject")
    values = {"s0-cron-Asia-Seoul-3008xxx-3019xxx": "0"}
    told = {"reason": "Inactive", "since": LATER, "nextChange": "2026-11-20T23:30:00Z", "values": values}
    live["status"] = {"kedaPy": told, "conditions": [{"type": "Ready", "status": "True"}]}
    heading, _, row, *_ = overview([line_of(live, Times(now=NOON))], 80).plain.splitlines()
    assert heading.split() == ["Name", "State", "Since", "Next", "Why"]
    assert row.split("  ") == [
        "some-application-develop-scaledobject",
        "asleep",
        "1 h ago",
        "in 11 h 30 min",
        "Inactive",
    ]
    narrow = overview([line_of(live, Times(now=NOON))], 66).plain.splitlines()[2]
    assert narrow == "some-applic…caledobject  asleep  1 h ago  in 11 h 30 min  Inactive"
    assert max(map(len, (heading, row))) <= 80
    assert len(overview([line_of(live, Times(now=NOON))] * 3, 40).plain.splitlines()) == 5


async def test_watch_tells_what_is_new_and_ends_at_ctrl_c(two: World) -> None:
    command = (sys.executable, "-m", "keda_py", "explain", "--kubeconfig", str(two.kubeconfig), "-n", "default", "-w")
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs are begun deaf to it
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, preexec_fn=heeds)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert (await process.stdout.readline()).startswith(b"default/app  awake")
        assert (await process.stdout.readline()).startswith(b"default/broken  broken")
        await two.annotate({"autoscaling.keda.sh/paused": "true"})
        await two.seconds(2)
        assert (await process.stdout.readline()).startswith(b"default/app  paused")
        process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 130


def test_the_overview_tells_when_its_environment_puts_it_to_sleep_and_no_time_twice() -> None:
    calendar = {"timeZone": "Asia/Seoul", "hours": [{"from": "08:30", "to": "23:30"}]}
    body = environment(namespace="shop", calendar=calendar)
    body["status"] = {"phase": "Awake", "nextChange": {"at": "2026-11-20T14:30:00Z", "to": "Asleep"}}
    body["metadata"]["creationTimestamp"] = CREATED
    written = Environment.model_validate(body)
    rulers = Rulers(by_namespace={"shop": [(build_environment(written), written)]})
    live = scaled_object(metrics_api("http://queue/jobs"))
    live["metadata"]["namespace"] = "shop"
    live["status"] = {"kedaPy": {"reason": "Active"}, "conditions": [{"type": "Active", "status": "True"}]}
    row = overview([line_of(live, Times(now=NOON), rulers)], 120).plain.splitlines()[-1]
    assert "sleeps in 2 h 30 min" in row
    ruler = "asleep by environment dev until 2026-11-20T23:30:00Z (its own hours)"
    live["status"] = {
        "kedaPy": {"reason": "Paused", "ruledBy": ruler},
        "conditions": [{"type": "Paused", "status": "True"}],
    }
    line = line_of(live, Times(now=NOON), rulers)
    assert line.why == "asleep by environment dev until tomorrow 08:30 KST (Fri 23:30 UTC) (its own hours)"
    assert "asleep by environment dev (its own hours)" in overview([line], 120).plain
    assert line.next is None  # what its Environment does next is to sleep, which it does already
