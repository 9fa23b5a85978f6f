"""Our decisions beside recorded ones of py-kube-downscaler; a file lists each difference with its reason."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keda_py.core.environment.downscaler.decision import (
    PAUSED,
    AnnotatedObject,
    DesiredFields,
    DownscaleInputs,
    DownscalerSettings,
    decide,
    is_forcing,
)
from keda_py.core.environment.downscaler.timespecs import SpecDefaults, matches
from keda_py.errors import ConfigError
from tests.costs import cpu_of
from tests.places import ROOT

GOLDEN: dict[str, Any] = json.loads((ROOT / "tests/golden/downscaler.json").read_text("utf-8"))
DIFFERENCES: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "downscaler_differences.toml").read_text("utf-8")
)
KINDS = {
    "deployments": "Deployment", "statefulsets": "StatefulSet", "cronjobs": "CronJob", "jobs": "Job", "rollouts": "Rollout",
    "stacks": "Stack", "daemonsets": "DaemonSet", "scaledobjects": "ScaledObject", "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "poddisruptionbudgets": "PodDisruptionBudget", "autoscalingrunnersets": "AutoscalingRunnerSet",
}  # fmt: skip
META = {"kind", "name", "namespace", "annotations", "labels", "ownerReferences", "creationTimestamp"}
NAMES = {
    "uptime": "uptime", "downtime": "downtime", "upscalePeriod": "upscale_period", "downscalePeriod": "downscale_period",
    "upscaleTargetOnly": "upscale_target_only", "deploymentTimeAnnotation": "deployment_time_annotation",
}  # fmt: skip


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def settings(given: Mapping[str, Any]) -> DownscalerSettings:
    found = DownscalerSettings(
        **{NAMES[key]: value for key, value in given.items() if key in NAMES},
        defaults=SpecDefaults(time_zone=given.get("timezone") or "", days=given.get("weekframe") or ""),
        downtime_replicas=str(given.get("downtimeReplicas", 0)),
        grace=timedelta(seconds=given.get("gracePeriod", 900)),
        namespaces=frozenset(given.get("namespaces") or ()),
        matching_labels=tuple(given.get("matchingLabels") or ()),
        include_kinds=frozenset(KINDS[word] for word in given.get("includeResources") or ()),
    )
    if "excludeNamespaces" in given:
        found = replace(found, exclude_namespaces=tuple(given["excludeNamespaces"]))
    return (
        replace(found, exclude_names=frozenset(given["excludeDeployments"])) if "excludeDeployments" in given else found
    )


def annotated(kind: str, obj: Mapping[str, Any]) -> AnnotatedObject:
    return AnnotatedObject(
        kind=kind,
        namespace=obj["namespace"],
        name=obj["name"],
        created=time(obj["creationTimestamp"]),
        annotations=obj.get("annotations") or {},
        labels=obj.get("labels") or {},
        owner_kinds=tuple(owner["kind"] for owner in obj.get("ownerReferences") or ()),
        fields={key: value for key, value in obj.items() if key not in META},
    )


def play(
    kind: str, obj: Mapping[str, Any], around: Mapping[str, str], given: Mapping[str, Any], case: Mapping[str, Any]
) -> DesiredFields | str:
    """Decide; return fields and annotations, or the text of an error."""
    wanted = settings(given)
    pods = [pod for pod in case.get("pods", ()) if not wanted.namespaces or pod["namespace"] in wanted.namespaces]
    forcing = any(is_forcing(pod["phase"], pod["annotations"]) for pod in pods)
    try:
        return decide(
            annotated(kind, obj),
            DownscaleInputs(annotations=around, pod_forces_uptime=forcing),
            wanted,
            time(case["now"]),
        )
    except ConfigError as error:
        return str(error)


def difference(
    kind: str, obj: Mapping[str, Any], found: DesiredFields | str, result: Mapping[str, Any], dry: bool
) -> str:
    """List differences from the recording."""
    if isinstance(found, str):
        return "" if "error" in result else f"refused: {found}"
    if "error" in result and kind != "ScaledObject":
        return "not refused"
    changed = found.changed and not dry
    fields = {key: value for key, value in obj.items() if key not in META} if dry else found.fields
    annotations = obj.get("annotations") or {} if dry else found.annotations
    shown = {
        key: value
        for key, value in fields.items()
        if key in result or key not in ("maxReplicas", "autoscaler", "maxRunners")
    }
    expected = {
        key: value
        for key, value in result.items()
        if key not in ("changed", "annotations", "error", "errorScope", "warning")
    }
    ours, theirs = (changed, shown, dict(annotations)), (result["changed"], expected, result["annotations"])
    return "" if ours == theirs else f"{ours} instead of {theirs}"


def check(corpus: str, found: Mapping[str, str]) -> None:
    """All that differs is listed with its reason, and nothing is listed in vain."""
    known = DIFFERENCES[corpus]
    assert {case: how for case, how in found.items() if case not in known} == {}
    assert [case for case in known if case not in found] == []


def test_time_specs_match_when_they_did() -> None:
    found = {}
    for case in GOLDEN["timeSpecs"]:
        defaults = SpecDefaults(time_zone=case.get("defaultTimezone", ""), days=case.get("defaultWeekframe", ""))
        try:
            result: object = matches(case["spec"], time(case["at"]), defaults, field="f")
        except ConfigError:
            result = "error"
        if result != ("error" if "error" in case else case["matches"]):
            found[case["id"]] = f"{case['spec']} at {case['at']}: {result}"
    check("timeSpecs", found)


def test_objects_are_changed_as_they_were() -> None:
    found = {}
    for case in GOLDEN["decisions"]:
        if case["kind"] != "ScaledObject":
            outcome = play(case["kind"], case["object"], case["namespaceAnnotations"], case["defaults"], case)
            if how := difference(
                case["kind"], case["object"], outcome, case["result"], case["defaults"].get("dryRun", False)
            ):
                found[case["id"]] = f"{case['group']}: {how}"
    check("decisions", found)


def test_sequences_go_on_as_they_did() -> None:
    found = {}
    for case in GOLDEN["sequences"]:
        if case["kind"] == "ScaledObject":
            continue
        obj, around, given = dict(case["object"]), dict(case["namespaceAnnotations"]), dict(case["defaults"])
        for number, step in enumerate(case["steps"]):
            edit = dict(step.get("edit", {}))
            annotations = {**obj["annotations"], **edit.pop("annotations", {})}
            obj |= edit | {"annotations": {key: text for key, text in annotations.items() if text is not None}}
            around = {
                key: text
                for key, text in {**around, **step.get("editNamespaceAnnotations", {})}.items()
                if text is not None
            }
            given |= step.get("editDefaults", {})
            outcome = play(case["kind"], obj, around, given, step)
            if how := difference(case["kind"], obj, outcome, step["result"], False):
                found[case["id"]] = f"{case['story']}, step {number}: {how}"
                break
            if isinstance(outcome, DesiredFields):
                obj = (
                    {key: value for key, value in obj.items() if key in META}
                    | dict(outcome.fields)
                    | {"annotations": dict(outcome.annotations)}
                )
    check("sequences", found)


def test_clusters_come_out_as_they_did() -> None:
    found = {}
    for case in GOLDEN["clusters"]:
        for number, (obj, result) in enumerate(zip(case["objects"], case["results"], strict=True)):
            if obj["kind"] == "ScaledObject":
                continue
            expected = {**result, "error": case["runError"]} if "runError" in case and not result["changed"] else result
            outcome = play(obj["kind"], obj, case["namespaces"][obj["namespace"]], case["defaults"], case)
            if how := difference(obj["kind"], obj, outcome, expected, False):
                found[f"{case['id']}/{number}"] = f"{case['story']}: {how}"
    check("clusters", found)


def test_a_scaled_object_sleeps_where_it_was_frozen() -> None:
    found = {}
    for case in GOLDEN["decisions"]:
        if case["kind"] != "ScaledObject":
            continue
        outcome = play("ScaledObject", case["object"], case["namespaceAnnotations"], case["defaults"], case)
        owners = set(case["object"]["annotations"]) & {PAUSED, "downscaler/original-replicas"} == {PAUSED}
        frozen = case["result"]["annotations"].get(PAUSED)
        theirs = "error" if "error" in case["result"] else None if frozen is None or owners else int(frozen)
        ours = outcome.sleeps_at if isinstance(outcome, DesiredFields) else "error"
        if ours != theirs:
            found[case["id"]] = f"sleeps at {ours}, was frozen at {theirs}"
    check("scaledObjects", found)


def test_what_the_program_wrote_on_a_scaled_object_is_taken_away() -> None:
    for case in GOLDEN["decisions"]:
        if case["kind"] == "ScaledObject" and case["now"] == "2024-01-10T10:00:00Z":
            outcome = play("ScaledObject", case["object"], case["namespaceAnnotations"], case["defaults"], case)
            assert isinstance(outcome, DesiredFields)
            assert (outcome.changed, outcome.annotations) == (
                case["result"]["changed"],
                case["result"]["annotations"],
            ), case["id"]


DAY, NIGHT = "2024-01-10T10:00:00Z", "2024-01-10T22:00:00Z"
HOURS = {"uptime": "Mon-Fri 08:00-18:00 UTC"}
ORIGINAL, DOWN_TO = "downscaler/original-replicas", "downscaler/downtime-replicas"
REFUSED = "an error"
NEVER_NOW = "Sat-Sun 10:00-11:00 UTC"
JOBS_AND_OTHERS = [
    ("Job", "Workflow", False),
    ("Job", "CronJob", False),
    ("Deployment", "Stack", False),
    ("Deployment", "Application", True),
    ("StatefulSet", "Stack", True),
]


def now_and_then(kind: str, now: str, obj: Mapping[str, Any], around: Mapping[str, str], **case: Any) -> object:
    """Fields and annotations afterwards, or `REFUSED`."""
    given = {"namespace": "shop", "name": "app", "creationTimestamp": "2020-01-01T00:00:00Z", **obj}
    outcome = play(kind, given, around, {**HOURS, **case.pop("settings", {})}, {"now": now, **case})
    return REFUSED if isinstance(outcome, str) else (dict(outcome.fields), dict(outcome.annotations))


@pytest.mark.parametrize("phase", ["Running", "Pending", "Unknown", ""])
def test_a_pod_that_is_not_over_forces_everything_up(phase: str) -> None:
    pods = [{"namespace": "other", "phase": phase, "annotations": {"downscaler/force-uptime": "true"}}]
    asleep = {"replicas": 0, "annotations": {ORIGINAL: "3"}}
    assert now_and_then("Deployment", NIGHT, asleep, {}, pods=pods) == ({"replicas": 3}, {})
    said_no = {"downscaler/force-uptime": ""}
    assert now_and_then("Deployment", NIGHT, asleep, said_no, pods=pods) == ({"replicas": 0}, {ORIGINAL: "3"})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_forces_nothing(phase: str) -> None:
    pods = [{"namespace": "other", "phase": phase, "annotations": {"downscaler/force-uptime": "true"}}]
    up = {"replicas": 3, "annotations": {}}
    assert now_and_then("Deployment", NIGHT, up, {}, pods=pods) == ({"replicas": 0}, {ORIGINAL: "3"})


@pytest.mark.parametrize(
    ("original", "night", "replicas", "after"),
    [
        ("3", "0%", 0, ({"replicas": 3}, {DOWN_TO: "0%"})),
        ("3%", "0", 0, ({"replicas": 0}, {ORIGINAL: "3%", DOWN_TO: "0"})),
        ("3%", "0", 3, ({"replicas": 3}, {DOWN_TO: "0"})),
        ("0", "0", 0, ({"replicas": 0}, {ORIGINAL: "0", DOWN_TO: "0"})),
        ("5", "0", 3, ({"replicas": 3}, {ORIGINAL: "5", DOWN_TO: "0"})),
        ("3", "3", 3, ({"replicas": 3}, {DOWN_TO: "3"})),
        ("-1", "0", 0, ({"replicas": -1}, {DOWN_TO: "0"})),
        ("3", " 0 % ", 0, ({"replicas": 3}, {DOWN_TO: " 0 % "})),
        ("3", "10000000000", 0, ({"replicas": 0}, {ORIGINAL: "3", DOWN_TO: "10000000000"})),
    ],
)
def test_the_count_of_before_comes_back_in_the_morning(original: str, night: str, replicas: int, after: object) -> None:
    obj = {"replicas": replicas, "annotations": {ORIGINAL: original, DOWN_TO: night}}
    assert now_and_then("Deployment", DAY, obj, {}) == after


def test_a_budget_gets_back_the_form_that_it_had() -> None:
    obj = {"minAvailable": "50%", "annotations": {ORIGINAL: "50", DOWN_TO: "50"}}
    assert now_and_then("PodDisruptionBudget", DAY, obj, {}) == ({"minAvailable": 50}, {DOWN_TO: "50"})


@pytest.mark.parametrize(
    ("paused", "original", "after"),
    [
        (None, "3", {ORIGINAL: "3"}),
        (None, "-1", {}),
        ("0", "0", {PAUSED: "0", ORIGINAL: "0"}),
        ("0", "-1", {}),
        ("3", "3", {PAUSED: "3"}),
        ("2", "3", {PAUSED: "2", ORIGINAL: "3"}),
    ],
)
def test_of_a_scaled_object_that_is_up_only_what_is_over_is_taken_away(
    paused: str | None, original: str, after: dict[str, str]
) -> None:
    annotations = {ORIGINAL: original, **({} if paused is None else {PAUSED: paused})}
    assert now_and_then("ScaledObject", DAY, {"annotations": annotations}, {}) == ({}, after)


@pytest.mark.parametrize("around", [{}, {"downscaler/exclude": "true"}, {"downscaler/upscale-period": NEVER_NOW}])
@pytest.mark.parametrize("annotations", [{DOWN_TO: "few"}, {DOWN_TO: "101%"}, {DOWN_TO: "-1"}, {ORIGINAL: "many"}])
def test_a_count_that_cannot_be_read_is_refused_whatever_rules(
    annotations: dict[str, str], around: dict[str, str]
) -> None:
    assert now_and_then("Deployment", DAY, {"replicas": 3, "annotations": annotations}, around) == REFUSED


def test_an_object_without_its_count_is_refused_also_in_neither_period() -> None:
    around = {"downscaler/upscale-period": NEVER_NOW}
    assert now_and_then("CronJob", DAY, {"annotations": {}}, around) == REFUSED


@pytest.mark.parametrize(("kind", "owner", "is_put_down"), JOBS_AND_OTHERS)
def test_what_an_owner_puts_down_is_left_to_it(kind: str, owner: str, is_put_down: bool) -> None:
    field, down = ({"suspend": False}, {"suspend": True}) if kind == "Job" else ({"replicas": 3}, {"replicas": 0})
    obj = {**field, "annotations": {}, "ownerReferences": [{"kind": owner}]}
    after = now_and_then(kind, NIGHT, obj, {})
    assert isinstance(after, tuple)
    assert after[0] == (down if is_put_down else field)


def test_a_runner_set_without_a_bound_is_put_down_and_up() -> None:
    down = ({"minRunners": 0}, {ORIGINAL: "-1"})
    assert now_and_then("AutoscalingRunnerSet", NIGHT, {"minRunners": -1, "annotations": {}}, {}) == down


def test_a_label_pattern_without_text_is_none() -> None:
    up = {"replicas": 3, "annotations": {}}
    after = now_and_then("Deployment", NIGHT, up, {}, settings={"matchingLabels": [""]})
    assert after == ({"replicas": 0}, {ORIGINAL: "3"})


def test_a_mistake_of_a_namespace_stops_all_of_its_objects_and_no_others() -> None:
    """There the run ends: namespaces behind it, and the kinds that come later, stay as they are."""
    up, mistake = {"replicas": 3, "annotations": {}}, {"downscaler/force-downtime": "some day"}
    for kind in ("Deployment", "StatefulSet"):
        assert now_and_then(kind, NIGHT, up, {**mistake, "downscaler/force-uptime": "true"}) == REFUSED
        assert now_and_then(kind, NIGHT, {**up, "namespace": "zoo"}, {}) == ({"replicas": 0}, {ORIGINAL: "3"})


def test_a_window_may_cross_midnight() -> None:
    def opens(at: str) -> bool:
        return matches(
            "Mon-Fri 22:00-06:00 UTC", datetime.fromisoformat(at).replace(tzinfo=UTC), SpecDefaults(), field="f"
        )

    assert [
        opens("2024-01-10T21:59"),
        opens("2024-01-10T22:00"),
        opens("2024-01-13T05:59"),
        opens("2024-01-13T06:00"),
    ] == [False, True, True, False]
    assert [opens("2024-01-08T05:00"), opens("2024-01-13T22:00")] == [False, False]


def test_a_hostile_annotation_costs_little() -> None:
    spec = ",".join(["Mon-Fri 08:00-08:00 UTC"] * 160)[:4096]
    matches("Mon-Fri 08:00-08:00 UTC", time("2024-01-10T21:59:00Z"), SpecDefaults(), field="f")
    assert cpu_of(lambda: matches(spec, time("2024-01-10T21:59:00Z"), SpecDefaults(), field="f"), ConfigError) < 0.01
    with pytest.raises(ConfigError, match="a time spec has at most 4096 characters"):
        matches("x" * 5000, time("2024-01-10T21:59:00Z"), SpecDefaults(), field="f")
