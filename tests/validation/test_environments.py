"""What `keda-py validate` says of Environments beside what else is in the files, and of Overrides at a time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from keda_py.kube.resources import Obj
from keda_py.validation.report import validate_texts
from tests.builders import (
    bare_scaled_object,
    calendar,
    cron,
    cron_job,
    deployment,
    environment,
    obj,
    override,
    scaled_object,
)

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
EXCLUDE = {"keda-py.dev/exclude": "true"}


async def told(*objects: Obj, now: datetime = NOW) -> dict[str, str]:
    """Code, or "error" -> sentence."""
    report = await validate_texts({"m.yaml": yaml.safe_dump_all(objects, sort_keys=False)}, now)
    return {one.code or one.severity: one.sentence for one in report.problems}


def labelled(body: Obj, annotations: Mapping[str, str] | None = None, **labels: str) -> Obj:
    body["metadata"] |= {"labels": labels, "annotations": dict(annotations or {})}
    return body


@pytest.mark.parametrize(
    ("schedule", "fields", "runs"),
    [
        ("0 3 * * *", {}, False),
        ("0 3 * * *", {"timeZone": "America/Los_Angeles"}, True),  # 11:00 UTC
        ("0 3 * * *", {"suspend": True}, True),
        ("0 8 * * 1", {}, True),
        ("0 18 * * 1", {}, False),
        ("59 17 * * *", {}, True),
        ("0 9 * * 6,0", {}, False),
        ("0 9 1 * *", {}, True),
        ("*/5 * * * *", {}, True),
        ("@daily", {}, False),
        ("@hourly", {}, True),
        ("@every 1h", {}, True),
        ("0 9 30 2 *", {}, True),  # it never fires, with or without an Environment
    ],
)
async def test_a_cron_job_whose_time_never_comes_in_the_hours_is_told(
    schedule: str, fields: dict[str, Any], runs: bool
) -> None:
    found = await told(cron_job(schedule=schedule, **fields), environment())
    assert ("job-never-runs" not in found) == runs


async def test_it_is_said_what_kubernetes_does_with_the_run_that_was_missed() -> None:
    sentence = (await told(cron_job(schedule="0 3 * * *"), environment()))["job-never-runs"]
    assert 'CronJob report: spec.schedule: "0 3 * * *" (UTC) never falls into the hours of Environment dev' in sentence
    assert "Kubernetes runs the last missed one at once when it is resumed (next: Mon 08:00 UTC)" in sentence
    short = cron_job(schedule="0 3 * * *", startingDeadlineSeconds=600)
    sentence = (await told(short, environment()))["job-never-runs"]
    assert "startingDeadlineSeconds: 600 is over when it is resumed" in sentence
    assert "at once" not in sentence


async def test_a_job_that_is_excluded_or_outside_runs_at_its_time() -> None:
    assert await told(labelled(cron_job(), EXCLUDE), environment()) == {}
    assert await told(labelled(cron_job(), team="b"), environment(selector={"matchLabels": {"team": "a"}})) == {}
    assert await told(cron_job(), environment(namespace="other")) == {}


async def test_hours_of_a_calendar_of_the_files_count_and_its_exceptions() -> None:
    by_reference = environment(calendarRef={"name": "office"})
    assert "job-never-runs" in await told(cron_job(), calendar(), by_reference)
    night = {"dates": ["2026-12-01"], "hours": [{"from": "00:00", "to": "04:00"}], "reason": "closing of the year"}
    assert await told(cron_job(), calendar(exceptions=[night]), by_reference) == {}


async def test_a_calendar_that_is_not_there_is_told_with_the_nearest_name() -> None:
    found = await told(calendar(), environment(calendarRef={"name": "ofice"}))
    assert 'Calendar "ofice" is not in these files' in found["no-calendar"]
    assert 'did you mean "office"?' in found["no-calendar"]
    of_cluster = environment(calendarRef={"name": "office", "kind": "ClusterCalendar"})
    assert "no-calendar" in await told(calendar(), of_cluster)
    assert await told(calendar(kind="ClusterCalendar"), of_cluster) == {}


async def test_a_wave_takes_the_labels_of_a_scaled_object_and_not_of_its_workload() -> None:
    waves = [{"name": "web", "selector": {"matchLabels": {"wave": "web"}}}]
    scaled = bare_scaled_object(cron(), name="web", target="web")
    workload = labelled(deployment("web"), wave="web")
    del workload["spec"]["replicas"]
    found = await told(workload, scaled, environment(waves=waves))
    assert "wave 'web' selects none of the 1 members here" in found["wave-empty"]
    assert await told(workload, labelled(scaled, wave="web"), environment(waves=waves)) == {}
    assert await told(environment(waves=waves)) == {}, "the members are not in these files"


async def test_a_member_of_two_environments_is_told_of_the_later_one() -> None:
    apart = {"matchLabels": {"team": "b"}}
    pod = obj("argoproj.io/v1alpha1", "Rollout", "canary", spec={})
    kinds = [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}]
    both = [deployment("web"), pod, environment("a", kinds=kinds), environment("b", kinds=kinds)]
    sentence = (await told(*both))["members-shared"]
    assert sentence.startswith("Environment b: spec.selector: Deployment web, Rollout canary: Environment a has this")
    assert await told(deployment("web"), environment("a"), environment("b", selector=apart)) == {}


@pytest.mark.parametrize(
    ("hours", "told_of"),
    [
        ([{"days": "Mon-Fri", "from": "19:30", "to": "08:30"}], True),
        ([{"from": "22:00", "to": "06:00"}], False),
        ([{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}, {"days": "Sat", "from": "20:00", "to": "08:00"}], True),
        ([{"from": "20:00", "to": "08:00"}, {"from": "08:00", "to": "18:00"}], False),
        ([{"from": "00:00", "to": "24:00"}], False),
    ],
)
async def test_hours_with_their_ends_exchanged_are_told(hours: list[Obj], told_of: bool) -> None:
    assert ("hours-swapped" in await told(calendar(hours=hours))) == told_of
    assert ("hours-swapped" in await told(environment(calendar={"timeZone": "UTC", "hours": hours}))) == told_of


async def test_an_override_that_is_over_is_refused_as_its_admission_would() -> None:
    late = override(state="Awake", until="2026-11-23T11:00:00Z")
    found = await told(late)
    assert "spec.until: 2026-11-23T11:00:00Z is over before it begins" in found["error"]
    assert await told(late, now=NOW.replace(hour=10)) == {}
    swapped = override(state="Awake", until="2026-11-24T18:00:00Z", **{"from": "2026-11-24T22:00:00Z"})
    assert "is over before it begins" in (await told(swapped))["error"]


async def test_an_override_of_a_cluster_that_has_ended_is_not_judged_anew() -> None:
    live = override(state="Awake", until="2026-11-23T11:00:00Z")
    live["metadata"] |= {"uid": "1", "creationTimestamp": "2026-11-23T09:00:00Z"}
    assert await told(live) == {}


async def test_an_override_without_an_end_is_told() -> None:
    assert list(await told(override(state="Hold"))) == ["override-endless"]
    for end in ({"for": "3h"}, {"until": "NextChange"}):
        assert await told(override(state="Hold", **end)) == {}


def web_service(name: str = "web", **spec: Any) -> Obj:
    body = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    return obj("v1", "Service", name, spec=body)


@pytest.mark.parametrize(
    ("service", "wake", "words"),
    [
        (web_service(), {}, ""),
        (web_service(clusterIP="None"), {}, 'requests for Service "web" wake nothing: clients of a headless Service'),
        (web_service(ports=[{"port": 53, "protocol": "UDP"}]), {}, "only TCP ports can be woken"),
        (web_service(internalTrafficPolicy="Local"), {}, "internalTrafficPolicy is Local"),
        (web_service(selector={"app": "other"}), {}, "no Service of these files selects a member"),
        (web_service(), {"services": {"matchLabels": {"wake": "yes"}}}, "is chosen and selects a member"),
        (web_service(), {"services": {"names": ["wbe"]}}, 'Service "wbe" is not in these files; did you mean "web"?'),
    ],
)
async def test_a_service_whose_requests_wake_nothing_is_told(service: Obj, wake: Obj, words: str) -> None:
    found = await told(deployment("web", 2), service, environment(wakeOnRequest=wake))
    assert words in found.get("service-not-woken", "")
    assert bool(words) is ("service-not-woken" in found)


@pytest.mark.parametrize(
    ("target", "state", "words"),
    [
        ({"kind": "Deployment", "name": "web"}, {"state": "Asleep"}, "no request ends it"),
        ({"kind": "Deployment", "name": "web"}, {"replicas": 0}, "no request ends it"),
        ({"kind": "Deployment", "name": "web"}, {"state": "Awake"}, ""),
        ({"kind": "Deployment", "name": "batch"}, {"state": "Asleep"}, ""),
        ({"kind": "Environment", "name": "dev"}, {"state": "Asleep"}, ""),
    ],
)
async def test_an_override_that_no_request_ends_is_told(target: Obj, state: Obj, words: str) -> None:
    quiet = override(target=target, **state, **{"for": "3h"})
    batch = deployment("batch", 1)
    batch["metadata"]["annotations"] = {"keda-py.dev/exclude": "true"}
    found = await told(deployment("web", 2), batch, web_service(), environment(wakeOnRequest={}), quiet)
    assert words in found.get("service-not-woken", "")
    assert bool(words) is ("service-not-woken" in found)
    on_request = scaled_object({"type": "request", "metadata": {}}, name="web")
    found = await told(deployment("web", 0), web_service(), on_request, quiet)
    assert bool(words) is ("service-not-woken" in found)


@pytest.mark.parametrize(
    ("service", "metadata", "words"),
    [
        (web_service(), {}, ""),
        (web_service(), {"services": "web"}, ""),
        (web_service(clusterIP="None"), {"services": "web"}, 'requests for Service "web" wake nothing: clients of a'),
        (web_service(selector={"app": "other"}), {}, "no Service of these files selects its pods"),
        (web_service(), {"services": "wbe"}, 'metadata.services: Service "wbe" is not in these files; did you mean'),
    ],
)
async def test_a_service_whose_requests_do_not_wake_a_scaled_object_is_told(
    service: Obj, metadata: dict[str, str], words: str
) -> None:
    trigger = {"type": "request", "metadata": metadata}
    found = await told(deployment("web", 0), service, scaled_object(trigger, name="web"))
    assert words in found.get("service-not-woken", "")
    assert bool(words) is ("service-not-woken" in found)
