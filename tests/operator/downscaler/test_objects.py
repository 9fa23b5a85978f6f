"""What is written of each recorded decision: a merge patch that makes of the live object what the program made of it."""

from typing import Any

from keda_py.core.environment.downscaler.decision import DesiredFields
from keda_py.kube.resources import Obj
from keda_py.localkube.patch.patches import merge_patch
from keda_py.operator.downscaler.objects import DOWNSCALED_BY_KIND, annotated, keep, patch_of
from tests.core.environment.test_downscaler import GOLDEN, META, play


def live_of(case: Obj) -> Obj:
    """The recorded object as the API server has it, with what else stands in such objects."""
    given, kind = case["object"], DOWNSCALED_BY_KIND[case["kind"]]
    spec: Obj = {"selector": {"matchLabels": {"app": "x"}}}
    for name in set(given) - META:
        *steps, last = kind.paths.get(name, (name,))
        inner = spec
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = given[name]
    known = {name: given[name] for name in META & set(given) - {"kind"}}
    metadata = {"uid": "u", "resourceVersion": "7", **known, "annotations": {**given["annotations"], "other": "kept"}}
    return {"apiVersion": kind.resource.api_version, "kind": case["kind"], "metadata": metadata, "spec": spec}


def fields_of(live: Obj, names: list[str]) -> dict[str, Any]:
    kept = keep(live)["fields"]
    return {name: kept[name] for name in names}


def test_each_recorded_decision_is_written_as_it_was_decided() -> None:
    written = 0
    for case in GOLDEN["decisions"]:
        if case["kind"] not in DOWNSCALED_BY_KIND:
            continue
        outcome = play(case["kind"], case["object"], case["namespaceAnnotations"], case["defaults"], case)
        if not isinstance(outcome, DesiredFields) or not outcome.changed or case["defaults"].get("dryRun"):
            continue
        written += 1
        live = live_of(case)
        patch = patch_of(keep(live), annotated(keep(live)), outcome)
        after = merge_patch(live, patch)
        names = [name for name in DOWNSCALED_BY_KIND[case["kind"]].paths if name in case["result"]]
        assert fields_of(after, names) == {name: case["result"][name] for name in names}, case["id"]
        assert after["metadata"]["annotations"] == case["result"]["annotations"] | {"other": "kept"}, case["id"]
        assert after["spec"]["selector"] == live["spec"]["selector"], case["id"]
        assert patch["metadata"]["resourceVersion"] == "7"
    assert written > 100
