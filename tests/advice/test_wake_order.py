"""`keda-py advise --prometheus` finds waves in recorded starts: db, then api, which restarts until it is there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from keda_py.advice.command import AdviseOptions, find, with_wake_orders
from keda_py.advice.proposals.manifest_workloads import running
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.wake_order import StartRecord, WakeOrder, wake_order
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.advice.sources.prometheus import RecordedWeeks
from keda_py.cli import main
from keda_py.clock import SystemClock
from keda_py.core.advice.start_order import MemberStart
from keda_py.sdk.offline import shared_context
from keda_py.simulation.loads.prometheus import PrometheusServer
from tests.advice.recorded import Counted, MorningStart, monday, recorded
from tests.builders import bare_scaled_object, workload
from tests.core.advice.habits import Habit
from tests.http_server import http_server

DB = WorkloadKey("shop", "StatefulSet", "db")
API = WorkloadKey("shop", "Deployment", "api")
WEB = WorkloadKey("shop", "Deployment", "web")
PODS = {"db": "db-0", "api": "api-7d9c5b6f4-x2x5z", "web": "web-7d9c5b6f4-x2x5z"}
SCRAPED = {"job": "kube-state-metrics", "namespace": "monitoring", "exported_namespace": "shop"}


def start_of(ready_at: int, restarts: float | None = None) -> MemberStart:
    return MemberStart(
        ready=[0.0] * ready_at + [1.0] * (80 - ready_at), restarts=None if restarts is None else [0.0, *[restarts] * 79]
    )


def ordered(labels: Mapping[WorkloadKey, Mapping[str, str]], record: StartRecord) -> WakeOrder:
    members = [Observed(workload=key, labels=values) for key, values in labels.items()]
    return wake_order(members, list(labels), record)


STARTS = StartRecord([{DB: start_of(4, 0), API: start_of(8, 2), WEB: start_of(5, 0)}] * 6)
EVIDENCE = "  api was ready after db in 6 of 6 starts, 60 s later, restarted 2 times before"


def test_waves_choose_by_a_label_that_tells_them_apart() -> None:
    shared = {"app.kubernetes.io/part-of": "shop", "helm.sh/chart": "a-1"}
    labels = {key: {**shared, "app": key.name, "helm.sh/chart": key.name} for key in (API, DB, WEB)}
    found = ordered(labels, STARTS)
    assert [(wave["name"], wave["selector"]["matchExpressions"]) for wave in found.waves] == [
        ("wave-1", [{"key": "app", "operator": "In", "values": ["db", "web"]}]),
        ("wave-2", [{"key": "app", "operator": "In", "values": ["api"]}]),
    ]
    assert EVIDENCE in found.sentences


@pytest.mark.parametrize("label", [{}, {"app": "shop"}], ids=["no labels", "the same label"])
def test_without_a_label_that_tells_them_apart_the_order_is_a_comment_with_labels_to_add(label: dict[str, str]) -> None:
    found = ordered(dict.fromkeys((API, DB, WEB), label), STARTS)
    assert found.waves == ()
    assert EVIDENCE in found.sentences
    assert "  kubectl label statefulset/db --namespace shop keda-py.dev/wave=wave-1" in found.sentences
    assert "  kubectl label deployment/api --namespace shop keda-py.dev/wave=wave-2" in found.sentences
    assert "  - {name: wave-2, selector: {matchLabels: {keda-py.dev/wave: wave-2}}}" in found.sentences


@pytest.mark.parametrize(
    ("record", "because"),
    [
        (StartRecord(STARTS.starts[:4]), "4 starts were recorded, and an order needs 5"),
        (StartRecord(problem="the server is slow"), "the server is slow"),
        (
            StartRecord([{DB: start_of(4, 0), API: start_of(8, 0)}] * 6),
            "in 6 recorded starts no workload needed another one to be ready before",
        ),
    ],
    ids=["too few", "a problem", "no need"],
)
def test_without_an_order_it_says_why_there_are_no_waves(record: StartRecord, because: str) -> None:
    found = ordered({API: {"app": "api"}, DB: {"app": "db"}}, record)
    assert found == WakeOrder(sentences=(f"It has no waves: {because}.",))


def test_a_member_whose_starts_are_not_recorded_is_in_the_first_wave_and_named() -> None:
    cron = WorkloadKey("shop", "Deployment", "reports")
    found = ordered({key: {"app": key.name} for key in (API, DB, cron)}, STARTS)
    assert found.waves[0]["selector"]["matchExpressions"][0]["values"] == ["db", "reports"]
    assert (
        "  reports: 0 of its starts are recorded from beginning to end, so it is in the first wave" in found.sentences
    )


def history(*, with_starts: bool = True) -> list[Counted | MorningStart]:
    """Use of three workloads on working days, and their starts as kube-state-metrics tells them."""
    start = monday(4, SystemClock().now())
    found: list[Counted | MorningStart] = []
    for seed, key in enumerate((API, DB, WEB)):
        use = {"namespace": "shop", key.kind.lower(): key.name, "direction": "inbound"}
        found.append(Counted(metric="request_total", labels=use, habit=Habit(start=start, weeks=5, seed=seed)))
    for key, ready, restarts in (
        (DB, 60, {5: 0.0}),
        (API, 120, {5: 0.0, 30: 1.0, 60: 2.0}),
        (WEB, 90, {5: 0.0}),
    ):
        metric = f"kube_{key.kind.lower()}_status_replicas_ready"
        labels = {**SCRAPED, key.kind.lower(): key.name}
        pod = {**SCRAPED, "pod": PODS[key.name], "container": key.name}
        counts = "kube_pod_container_status_restarts_total"
        found.append(MorningStart(metric=metric, labels=labels, start=start, values={0: 0.0, ready: 1.0}))
        found.append(MorningStart(metric=counts, labels=pod, start=start, values=restarts, at_night=None))
    return found if with_starts else found[:3]


def manifest(url: str, there: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, Any]:
    """The text, and the Environment in it."""
    asked = ["-n", "shop", "--weeks", "4", "--prometheus", url, "--timezone", "UTC", "-o", "manifest"]
    assert main(["advise", str(there), *asked, *arguments]) == 0
    text = capsys.readouterr().out
    return text, next(each for each in yaml.safe_load_all(text) if each and each["kind"] == "Environment")


def manifests_with_labels(folder: Path) -> Path:
    path = folder / "there.yaml"
    bodies = [workload(key.kind, key.name, 1, namespace="shop") for key in (API, DB, WEB)]
    for body in bodies:
        body["metadata"]["labels"] = {"app": body["metadata"]["name"]}
    path.write_text(yaml.safe_dump_all(bodies))
    return path


def test_starts_in_a_real_prometheus_become_waves_of_a_valid_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = manifests_with_labels(tmp_path)
    with recorded(tmp_path / "server", history()) as url:
        text, environment = manifest(url, there, capsys)
    waves = environment["spec"]["waves"]
    assert [wave["selector"]["matchExpressions"][0]["values"] for wave in waves] == [["db", "web"], ["api"]]
    assert "#   api was ready after db in " in text
    assert "60 s later, restarted 2 times before" in text
    path = tmp_path / "proposed.yaml"
    path.write_text(text)
    assert main(["validate", str(path), str(there)]) == 0, capsys.readouterr()


def test_a_server_without_kube_state_metrics_gives_hours_and_the_reason_for_no_waves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = manifests_with_labels(tmp_path)
    with recorded(tmp_path / "server", history(with_starts=False)) as url:
        text, environment = manifest(url, there, capsys)
    assert environment["spec"]["calendar"]["hours"] == [{"days": "Mon-Fri", "from": "09:00", "to": "18:00"}]
    assert "waves" not in environment["spec"]
    assert "It has no waves: the server has nothing of kube_deployment_status_replicas_ready" in text


def test_waves_that_are_written_already_are_kept_since_starts_follow_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = manifests_with_labels(tmp_path)
    waves = [{"name": "data", "selector": {"matchLabels": {"app": "db"}}}]
    written = {
        "apiVersion": "keda-py.dev/v1alpha1",
        "kind": "Environment",
        "metadata": {"name": "develop", "namespace": "shop"},
        "spec": {"calendar": {"timeZone": "UTC"}, "waves": waves},
    }
    there.write_text(f"{there.read_text()}---\n{yaml.safe_dump(written)}")
    with recorded(tmp_path / "server", history()) as url:
        text, environment = manifest(url, there, capsys)
    assert "waves" not in environment["spec"]
    assert "Environment develop has waves already, and recorded starts follow those; keep its spec.waves." in text


async def test_a_server_that_fails_when_it_is_asked_for_starts_leaves_the_hours_and_is_named() -> None:
    members = [
        Observed(workload=key, history=Habit(seed=seed).history(), labels={"app": key.name})
        for seed, key in enumerate((API, DB))
    ]
    found = find(members, AdviseOptions(places=PlaceRule(own=ZoneInfo("UTC"), zone=ZoneInfo("UTC"))))
    async with http_server() as server, shared_context() as shared:
        source = RecordedWeeks(server=PrometheusServer(url=server.url), client=shared.http)
        (group,) = (await with_wake_orders(found, source, 4, (), lambda share, at: None)).groups
    assert group.body["spec"]["calendar"]["hours"] == [{"days": "Mon-Fri", "from": "09:00", "to": "18:00"}]
    assert "waves" not in group.body["spec"]
    (sentence,) = group.order.sentences
    assert sentence.startswith("It has no waves: http://127.0.0.1")


def test_the_starts_of_a_scaled_object_are_those_of_its_target() -> None:
    scaled = WorkloadKey("shop", "ScaledObject", "api-by-queue")
    bodies = [bare_scaled_object(name=scaled.name, namespace="shop", target=API.name)]
    keys = [running(key, bodies) for key in (scaled, DB)]
    assert keys == [API, DB]
    members = [Observed(workload=key, labels={"app": key.name}) for key in (scaled, DB)]
    found = wake_order(members, keys, STARTS)
    values = [wave["selector"]["matchExpressions"][0]["values"] for wave in found.waves]
    assert values == [["db"], ["api-by-queue"]]
