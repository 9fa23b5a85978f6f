import pytest

from keda_py.localkube.patch.patches import json_patch, merge_patch
from keda_py.schema.status import StatusError

OBJ = {"a": {"b": 1, "c": [1, 2, 3]}, "d": "x"}


def test_a_merge_patch_merges_objects_replaces_lists_and_removes_nulls() -> None:
    assert merge_patch(OBJ, {"a": {"b": None, "c": [9]}, "e": {"f": None, "g": 1}}) == {
        "a": {"c": [9]},
        "d": "x",
        "e": {"g": 1},
    }


def test_a_merge_patch_replaces_a_scalar_by_an_object() -> None:
    assert merge_patch(OBJ, {"d": {"x": None, "y": 1}})["d"] == {"y": 1}


def test_patches_leave_the_original_alone_and_share_what_did_not_change() -> None:
    before = {"a": {"b": [1]}, "d": {"e": 1}}
    after = json_patch(before, [{"op": "add", "path": "/a/b/-", "value": 2}])
    assert before == {"a": {"b": [1]}, "d": {"e": 1}}
    assert after["a"]["b"] == [1, 2]
    assert after["d"] is before["d"]


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "add", "path": "/a/c/1", "value": 9}, {"a": {"b": 1, "c": [1, 9, 2, 3]}, "d": "x"}),
        ({"op": "add", "path": "/a/n", "value": None}, {"a": {"b": 1, "c": [1, 2, 3], "n": None}, "d": "x"}),
        ({"op": "remove", "path": "/a/c/0"}, {"a": {"b": 1, "c": [2, 3]}, "d": "x"}),
        ({"op": "replace", "path": "/a/c/2", "value": 0}, {"a": {"b": 1, "c": [1, 2, 0]}, "d": "x"}),
        ({"op": "copy", "from": "/a/b", "path": "/e~1f"}, {**OBJ, "e/f": 1}),
        ({"op": "move", "from": "/d", "path": "/a/b"}, {"a": {"b": "x", "c": [1, 2, 3]}}),
        ({"op": "test", "path": "/a/c", "value": [1, 2, 3]}, OBJ),
        ({"op": "test", "path": "/nope", "value": None}, OBJ),
        ({"op": "replace", "path": "", "value": {"new": 1}}, {"new": 1}),
    ],
    ids=lambda value: f"{value['op']} {value['path']}" if "op" in value else "",
)
def test_a_json_patch_does_each_operation(operation: dict[str, object], after: dict[str, object]) -> None:
    assert json_patch(OBJ, [operation]) == after


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nope"},
        {"op": "replace", "path": "/nope", "value": 1},
        {"op": "add", "path": "/nope/below", "value": 1},
        {"op": "add", "path": "/a/c/7", "value": 1},
        {"op": "add", "path": "/a/c/x", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "add", "path": "/a/b"},
        {"op": "test", "path": "/a/b", "value": True},
        {"op": "frobnicate", "path": "/a"},
        {"op": "replace", "path": "", "value": 3},
    ],
    ids=str,
)
def test_an_operation_that_does_not_fit_is_refused_with_422(operation: dict[str, object]) -> None:
    with pytest.raises(StatusError, match="the server rejected our request") as refusal:
        json_patch(OBJ, [operation])
    assert (refusal.value.code, refusal.value.reason, refusal.value.details) == (422, "Invalid", {})


def test_a_malformed_operation_is_a_bad_request() -> None:
    with pytest.raises(StatusError) as refusal:
        json_patch(OBJ, ["add"])
    assert refusal.value.code == 400
