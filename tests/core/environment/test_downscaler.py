"""Judged by recorded decisions of py-kube-downscaler itself; where we differ is listed, with the reason, in a file."""

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
    Annotated,
    DownscalerSettings,
    Outcome,
    Surroundings,
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


def annotated(kind: str, obj: Mapping[str, Any]) -> Annotated:
    return Annotated(
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
) -> Outcome | str:
    """What we decide; the text of an error."""
    wanted = settings(given)
    pods = [pod for pod in case.get("pods", ()) if not wanted.namespaces or pod["namespace"] in wanted.namespaces]
    forcing = any(is_forcing(pod["phase"], pod["annotations"]) for pod in pods)
    try:
        return decide(
            annotated(kind, obj), Surroundings(annotations=around, pod_forces_uptime=forcing), wanted, time(case["now"])
        )
    except ConfigError as error:
        return str(error)


def difference(kind: str, obj: Mapping[str, Any], found: Outcome | str, result: Mapping[str, Any], dry: bool) -> str:
    """How it differs from what was recorded; empty: it does not."""
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
            if isinstance(outcome, Outcome):
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
        ours = outcome.sleeps_at if isinstance(outcome, Outcome) else "error"
        if ours != theirs:
            found[case["id"]] = f"sleeps at {ours}, was frozen at {theirs}"
    check("scaledObjects", found)


def test_what_the_program_wrote_on_a_scaled_object_is_taken_away() -> None:
    for case in GOLDEN["decisions"]:
        if case["kind"] == "ScaledObject" and case["now"] == "2024-01-10T10:00:00Z":
            outcome = play("ScaledObject", case["object"], case["namespaceAnnotations"], case["defaults"], case)
            assert isinstance(outcome, Outcome)
            assert (outcome.changed, outcome.annotations) == (
                case["result"]["changed"],
                case["result"]["annotations"],
            ), case["id"]


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
