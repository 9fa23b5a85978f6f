"""What `keda-py explain` says comes next: direction, result, the own zone beside UTC, and what may prevent it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from keda_py.explanation.outlook import foretell, scene_of
from keda_py.explanation.zones import zone_of
from keda_py.replay.reading.manifests import ManifestSource
from keda_py.terminal.times import Times, spoken_duration
from tests import builders
from tests.builders import cpu, cron, environment, metrics_api, scaling_schedule

AFTERNOON = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)  # Friday 14:30 in Seoul
EVENING = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)  # Friday 21:00 in Seoul
OFFICE = cron("30 8 * * *", "30 19 * * *", timezone="Asia/Seoul")
QUEUE = metrics_api("http://queue/jobs")
MEMORY = {"type": "memory", "metricType": "Utilization", "metadata": {"value": "90"}}
CRON, JOBS = "s0-cron-Asia-Seoul-308xxx-3019xxx", "s1-metric-api-value"


def cooling(*triggers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return builders.scaled_object(*triggers, **{"cooldownPeriod": 300, **fields})


def told(
    manifest: dict[str, Any],
    now: datetime,
    replicas: int,
    triggers: list[dict[str, Any]],
    reason: str = "",
    rulers: Sequence[ManifestSource] = (),
    ruled_by: str = "",
    **last: Any,
) -> list[str]:
    entry = {
        "time": now.isoformat(),
        "reason": reason or ("Active" if replicas else "Inactive"),
        "triggers": triggers,
        "replicas": {"before": replicas, "after": replicas},
        **last,
    }
    insight = {"now": {"time": now.isoformat(), "nextPoll": now.isoformat()}, "last": entry, "ruledBy": ruled_by}
    if ruled_by:
        del insight["now"]["nextPoll"]
    insight["metadata"] = {"namespace": "shop", "name": "app"}
    zone = zone_of(manifest) or (ZoneInfo("Asia/Seoul") if rulers else None)
    scene = scene_of(insight, [ManifestSource(body=in_shop(manifest)), *rulers], Times(now=now, zone=zone))
    return list(foretell(scene)) if scene else []


def in_shop(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "namespace": "shop"}}


def window(*, active: bool) -> dict[str, Any]:
    return {"metric": CRON, "value": float(active), "active": active}


def queue(*, active: bool = False, **more: Any) -> dict[str, Any]:
    return {"metric": JOBS, "value": 3.0 * active, "active": active, **more}


def test_a_workload_that_is_awake_is_told_when_it_sleeps_in_its_own_zone_beside_utc() -> None:
    assert told(cooling(OFFICE), AFTERNOON, 1, [window(active=True)]) == [
        "sleeps at 19:35 KST (10:35 UTC), in 5 h 5 min",
        "window daily 08:30-19:30 Asia/Seoul, 77 h a week: open until 19:30 KST (10:30 UTC)",
    ]


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("30 8 * * 1-5", "30 19 * * 1-5", "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week: open until 19:30 KST"),
        ("0 0 30 2 *", "0 1 30 2 *", "never open: closed"),
        ("*/2 * * * 1-5", "1 * * * 1-5", "from */2 * * * 1-5 to 1 * * * 1-5 Asia/Seoul: "),
    ],
    ids=["weekdays", "never", "too often to be told"],
)
def test_a_window_is_told_as_validate_tells_it(start: str, end: str, words: str) -> None:
    *_, last = told(cooling(cron(start, end, timezone="Asia/Seoul")), AFTERNOON, 1, [window(active=True)])
    assert last.startswith(f"window {words}")


def test_what_may_keep_it_awake_is_named() -> None:
    first, *_ = told(cooling(OFFICE, QUEUE), AFTERNOON, 1, [window(active=True), queue()])
    assert first == f"sleeps at 19:35 KST (10:35 UTC), in 5 h 5 min, unless {JOBS} is active"


def test_memory_is_not_said_to_keep_a_workload_awake_because_it_does_not() -> None:
    first, second, *_ = told(cooling(OFFICE, MEMORY), AFTERNOON, 1, [window(active=True)])
    assert first == "sleeps at 19:35 KST (10:35 UTC), in 5 h 5 min"
    assert second == "memory scales it while it is awake, and does not keep it awake"


def test_a_workload_that_sleeps_is_told_when_it_wakes_and_what_wakes_it_before() -> None:
    first, second = told(cooling(OFFICE, QUEUE), EVENING, 0, [window(active=False), queue()])
    assert first == f"wakes tomorrow at 08:30 KST (Fri 23:30 UTC), in 11 h 30 min, or as soon as {JOBS} is active"
    assert second.endswith(": closed until tomorrow 08:30 KST (Fri 23:30 UTC)")


def test_a_workload_that_requests_wake_says_which_and_for_how_long() -> None:
    on_request = {"type": "request", "metadata": {"services": "web, api", "activeFor": "30m"}}
    asleep = [{"metric": "s0-request-web-api", "value": 0.0, "active": False}]
    first, second = told(cooling(on_request), EVENING, 0, asleep)
    assert first == "wakes as soon as s0-request-web-api is active"
    assert second == "a request to web or api wakes it for 30 min"
    awake = told(cooling(on_request), EVENING, 1, [asleep[0] | {"value": 1.0, "active": True}])
    assert "a request to web or api wakes it for 30 min" not in awake


@pytest.mark.parametrize(
    ("manifest", "replicas", "triggers", "sentence"),
    [
        (cooling(QUEUE), 0, [queue()], f"wakes as soon as {JOBS} is active"),
        (cooling(QUEUE), 1, [queue(active=True)], f"sleeps once {JOBS} has had nothing to do for 5 min"),
        (cooling(QUEUE, minReplicaCount=2), 3, [queue()], "does not sleep: minReplicaCount is 2"),
        (
            cooling(QUEUE, minReplicaCount=2, idleReplicaCount=0),
            3,
            [queue(active=True)],
            f"sleeps once {JOBS} has had nothing to do for 5 min",
        ),
        (cooling(cpu(), MEMORY), 1, [], "does not sleep: cpu and memory alone cannot wake it again"),
        (
            cooling(QUEUE),
            1,
            [{"metric": JOBS, "active": False, "error": "refused"}],
            f"does not sleep while {JOBS} cannot be read",
        ),
        (
            cooling({**QUEUE, "name": "a"}, advanced={"scalingModifiers": {"formula": "a + 1", "target": "5"}}),
            1,
            [queue()],
            "whether it sleeps is decided by its formula at each poll",
        ),
        (cooling(cron("0 0 30 2 *", "0 1 30 2 *")), 0, [], "does not wake: no window opens within 400 days"),
    ],
    ids=["idle", "busy", "min", "idle count", "resources", "failing", "formula", "never"],
)
def test_without_an_open_window_the_sentence_says_on_what_it_depends(
    manifest: dict[str, Any], replicas: int, triggers: list[dict[str, Any]], sentence: str
) -> None:
    assert told(manifest, AFTERNOON, replicas, triggers)[0] == sentence


@pytest.mark.parametrize(
    ("annotation", "replicas", "sentence"),
    [
        ("paused-scale-in", 1, "does not sleep: scaling in is paused by annotation"),
        ("paused-scale-out", 0, "does not wake: scaling out is paused by annotation"),
        ("force-activation", 1, "stays awake while annotation autoscaling.keda.sh/force-activation is there"),
    ],
)
def test_an_annotation_that_prevents_it_is_named(annotation: str, replicas: int, sentence: str) -> None:
    manifest = cooling(QUEUE)
    manifest["metadata"]["annotations"] = {f"autoscaling.keda.sh/{annotation}": "true"}
    assert told(manifest, AFTERNOON, replicas, [queue()])[0] == sentence


def annotated(*triggers: dict[str, Any], **annotations: str) -> dict[str, Any]:
    manifest = cooling(*triggers)
    manifest["metadata"]["annotations"] = {
        f"keda-py.dev/{key.replace('_', '-')}": text for key, text in annotations.items()
    }
    return manifest


@pytest.mark.parametrize(
    ("manifest", "replicas", "triggers", "reason", "sentence"),
    [
        (annotated(QUEUE, cooldown="after-scale-in"), 3, [queue()], "ScalingIn", "sleeps 5 min after its HPA has scaled it in to 1"),
        (
            annotated(QUEUE, cooldown="after-scale-in"), 3, [queue(active=True)], "Active",
            f"sleeps once {JOBS} has had nothing to do, and its HPA has scaled it in, for 5 min",
        ),
        (annotated(OFFICE, QUEUE, active_when="all"), 0, [window(active=True), queue()], "Inactive", "wakes as soon as all of its triggers are active"),
        (
            annotated(OFFICE, QUEUE, active_when="all"), 2, [window(active=True), queue(active=True)], "Active",
            "sleeps once one of its triggers has not been active for 5 min",
        ),
        (annotated(QUEUE, paused_until="2026-11-20T05:00:00Z"), 0, [queue()], "Inactive", f"wakes as soon as {JOBS} is active"),
    ],
)  # fmt: skip
def test_the_own_annotations_are_part_of_what_is_said(
    manifest: dict[str, Any], replicas: int, triggers: list[dict[str, Any]], reason: str, sentence: str
) -> None:
    assert told(manifest, AFTERNOON, replicas, triggers, reason=reason)[0] == sentence


def test_a_cooldown_is_told_to_the_second() -> None:
    now = EVENING + timedelta(seconds=17)
    first, *_ = told(cooling(QUEUE), now, 1, [queue()], reason="CoolingDown", cooldownLeftSeconds=63, nextChange="x")
    assert first == f"sleeps at 12:01:20 UTC, in 1 min 3 s, unless {JOBS} is active"


def test_windows_closer_than_the_cooldown_are_one_night_with_no_sleep_between() -> None:
    early, late = cron("0 8 * * *", "0 12 * * *"), cron("3 12 * * *", "0 18 * * *")
    now = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
    assert told(cooling(early, late), now, 1, [])[0] == "sleeps at 18:05 UTC, in 9 h 5 min"


def test_windows_that_are_always_open_are_said_to_let_it_never_sleep() -> None:
    day, night = cron("0 8 * * *", "0 20 * * *"), cron("0 20 * * *", "0 8 * * *")
    assert told(cooling(day, night), EVENING, 1, [])[0] == "does not sleep: a window is always open"


DAY_TIME = {"timeZone": "Asia/Seoul", "hours": [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]}


def develop(members: dict[str, Any] | None = None, **spec: Any) -> ManifestSource:
    body = environment("develop", namespace="shop", calendar=DAY_TIME, **spec)
    phase = "Asleep" if members else "Awake"
    body["status"] = {"phase": phase, "phaseSince": "2026-11-19T23:30:00Z", "members": members or {}}
    return ManifestSource(body=body)


ASLEEP = {"ScaledObject/app": {"stage": "Down", "replicas": 2, "since": "2026-11-20T10:30:00Z"}}
WITH = "with environment develop"


@pytest.mark.parametrize(
    ("manifest", "triggers", "sentences"),
    [
        (cooling(cpu()), [], [f"sleeps at 19:30 KST (10:30 UTC), in 5 h, {WITH}: outside of the hours"]),
        (
            cooling(QUEUE, minReplicaCount=2),
            [queue()],
            [f"sleeps at 19:30 KST (10:30 UTC), in 5 h, {WITH}: outside of the hours"],
        ),
        (
            cooling(QUEUE),
            [queue(active=True)],
            [
                f"sleeps once {JOBS} has had nothing to do for 5 min",
                f"sleeps at the latest at 19:30 KST (10:30 UTC), in 5 h, {WITH}: outside of the hours",
            ],
        ),
        (
            cooling(QUEUE),
            [{"metric": JOBS, "active": False, "error": "refused"}],
            [f"sleeps at 19:30 KST (10:30 UTC), in 5 h, {WITH}: outside of the hours"],
        ),
    ],
    ids=["cpu", "min", "busy", "failing"],
)
def test_an_environment_that_puts_it_to_sleep_is_named_with_its_time(
    manifest: dict[str, Any], triggers: list[dict[str, Any]], sentences: list[str]
) -> None:
    assert told(manifest, AFTERNOON, 2, triggers, rulers=[develop()])[: len(sentences)] == sentences


def test_its_own_window_that_ends_before_the_environment_is_told_first() -> None:
    early = cron("30 8 * * *", "0 18 * * *", timezone="Asia/Seoul")
    first, second, *_ = told(cooling(early), AFTERNOON, 1, [window(active=True)], rulers=[develop()])
    assert first == "sleeps at 18:05 KST (09:05 UTC), in 3 h 35 min"
    assert second == f"sleeps at the latest at 19:30 KST (10:30 UTC), in 5 h, {WITH}: outside of the hours"


def test_what_sleeps_with_an_environment_is_told_when_that_wakes_it() -> None:
    ruled = {"rulers": [develop(ASLEEP)], "ruled_by": "asleep by environment develop", "reason": "Paused"}
    (first,) = told(cooling(cpu()), EVENING, 0, [], **ruled)
    assert first == f"wakes on Mon 23 Nov at 08:30 KST (Sun 23:30 UTC), in 2 d 11 h, {WITH}: hours Mon-Fri 08:30-19:30"


def test_what_only_its_source_wakes_is_told_from_when_on_that_is_asked_again() -> None:
    ruled = {"rulers": [develop(ASLEEP)], "ruled_by": "asleep by environment develop", "reason": "Paused"}
    (first,) = told(cooling(QUEUE), EVENING, 0, [], **ruled)
    monday = "Mon 23 Nov 08:30 KST (Sun 23:30 UTC)"
    assert first == (f"it wakes as soon as its trigger metrics-api is active from {monday} on, in 2 d 11 h, {WITH}")


def test_which_request_wakes_the_environment_of_what_sleeps_is_told_first() -> None:
    wake = {"for": "2h", "services": {"names": ["web"]}}
    ruled = {"rulers": [develop(ASLEEP, wakeOnRequest=wake)], "ruled_by": "asleep by environment develop"}
    first, *_ = told(cooling(QUEUE), EVENING, 0, [], **ruled)
    assert first == "a request to web wakes environment develop for 2 h"


def test_no_request_is_told_to_wake_what_an_override_of_its_own_keeps_at_0() -> None:
    quiet = builders.override(state="Asleep", target={"kind": "ScaledObject", "name": "app"})
    quiet["metadata"] |= {"namespace": "shop", "creationTimestamp": "2026-11-20T08:00:00Z"}
    environment = develop(ASLEEP, wakeOnRequest={"for": "2h"})
    rulers, by = [environment, ManifestSource(body=quiet)], "asleep by environment develop: Override evening (Asleep)"
    first, *_ = told(cooling(QUEUE), EVENING, 0, [], rulers=rulers, ruled_by=by)
    assert first == "no request wakes it: requests end no Override of a workload, so delete Override evening first"


def test_what_a_person_keeps_up_at_night_is_not_told_to_sleep_before_the_next_evening() -> None:
    kept = {"ScaledObject/app": {**ASLEEP["ScaledObject/app"], "stage": "Kept", "by": "jana"}}
    ruled = {"rulers": [develop(kept)], "ruled_by": "kept up by jana, held by environment develop"}
    (first,) = told(cooling(cpu()), EVENING, 2, [], reason="Paused", **ruled)
    assert first.startswith("sleeps on Mon 23 Nov at 19:30 KST (10:30 UTC)")


def test_what_was_created_a_moment_ago_is_told_to_sleep_when_its_grace_is_over() -> None:
    young = cooling(cpu())
    young["metadata"]["creationTimestamp"] = EVENING.isoformat()
    first, *_ = told(young, EVENING, 2, [], rulers=[develop(grace="15m")])
    assert first == f"sleeps at 21:15 KST (12:15 UTC), in 15 min, {WITH}: outside of the hours"


def test_a_schedule_that_closes_its_triggers_is_named() -> None:
    period = {"name": "night", "hours": [{"from": "18:00", "to": "06:00"}], "replicas": 0}
    nights = scaling_schedule("nights", "shop", names=["app"], periods=[period], timeZone="Asia/Seoul")
    first, *_ = told(cooling(cpu()), AFTERNOON, 2, [], rulers=[ManifestSource(body=nights)])
    assert first == "sleeps at 18:00 KST (09:00 UTC), in 3 h 30 min, with schedule nights: period night"


def test_a_schedule_of_every_minute_is_not_followed_to_its_end() -> None:
    window = cron("*/2 * * * *", "1-59/2 * * * *")
    sentences = told(cooling(window), AFTERNOON, 1, [{"metric": "s0-cron", "value": 1.0, "active": True}])
    assert not any(sentence.startswith("does not sleep") for sentence in sentences)


def test_what_cannot_be_read_is_not_foretold() -> None:
    now = EVENING.isoformat()
    times, polled = Times(now=EVENING), {"time": now, "nextPoll": now}
    assert scene_of({"now": {"time": now}, "last": None}, [ManifestSource(body=in_shop(cooling(QUEUE)))], times) is None
    assert scene_of({"now": polled, "last": {"replicas": {}}, "metadata": {"name": "app"}}, [], times) is None


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (42, "42 s"), (18_000, "5 h"), (18_732, "5 h 12 min"), (100_000, "1 d 3 h")]
)
def test_a_duration_is_said_in_its_two_largest_units(seconds: int, said: str) -> None:
    assert spoken_duration(timedelta(seconds=seconds)) == said
