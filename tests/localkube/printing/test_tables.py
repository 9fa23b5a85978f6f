from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.localkube.model.durations import age, human_duration
from keda_py.localkube.model.json_paths import PathError, find, find_first
from keda_py.localkube.printing.tables import build_table
from keda_py.schema.resources import Obj, PrinterColumn, Resource

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
METADATA = {"name": "x", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}


def cells(group: str, kind: str, obj: Obj, columns: tuple[PrinterColumn, ...] | None = None) -> dict[str, Any]:
    """Return the row of an object, by column."""
    resource = Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=True,
        custom=columns is not None,
        columns=columns or (),
    )
    table = build_table(resource, [{"metadata": METADATA, **obj}], NOW)
    names = [column["name"] for column in table["columnDefinitions"]]
    row = table["rows"][0]
    assert row["object"]["metadata"] == METADATA
    return dict(zip(names, row["cells"], strict=True))


def test_the_status_of_a_pod_is_the_waiting_reason_of_its_container() -> None:
    waiting = {"ready": False, "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    status = {"phase": "Running", "containerStatuses": [waiting, {"ready": True, "restartCount": 1}]}
    row = cells("", "Pod", {"spec": {"containers": [{}, {}]}, "status": status})
    assert (row["Ready"], row["Status"], row["Restarts"], row["Age"]) == ("1/2", "CrashLoopBackOff", "3", "10m")


def test_a_stateful_set_and_a_replica_set_count_their_pods() -> None:
    status = {"replicas": 2, "readyReplicas": 1}
    assert cells("apps", "StatefulSet", {"spec": {"replicas": 3}, "status": status})["Ready"] == "1/3"
    row = cells("apps", "ReplicaSet", {"spec": {"replicas": 3}, "status": status})
    assert (row["Desired"], row["Current"], row["Ready"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("metric", "current", "target"),
    [
        (
            {"external": {"target": {"averageValue": "5"}}},
            {"external": {"current": {"averageValue": "3"}}},
            "3/5 (avg)",
        ),
        ({"external": {"target": {"value": "5"}}}, {"external": {"current": {"value": "3"}}}, "3/5"),
        ({"external": {"target": {"value": "5"}}}, {}, "<unknown>/5"),
        ({"pods": {"target": {"averageValue": "5"}}}, {"pods": {"current": {"averageValue": "3"}}}, "3/5"),
        (
            {"resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
            {"resource": {"current": {"averageUtilization": 0}}},
            "cpu: 0%/50%",
        ),
        ({"resource": {"name": "memory", "target": {"averageValue": "1Gi"}}}, {}, "memory: <unknown>/1Gi"),
    ],
)
def test_an_autoscaler_shows_current_and_wanted_values(metric: Obj, current: Obj, target: str) -> None:
    kind = next(iter(metric))
    metric = {"type": kind[:1].upper() + kind[1:], **metric}
    hpa = {
        "spec": {"maxReplicas": 3, "metrics": [metric]},
        "status": {"currentMetrics": [current] if current else None},
    }
    assert cells("autoscaling", "HorizontalPodAutoscaler", hpa)["Targets"] == target


def test_an_autoscaler_shows_two_metrics_and_counts_the_rest() -> None:
    metric = {"type": "External", "external": {"target": {"value": "5"}}}
    row = cells("autoscaling", "HorizontalPodAutoscaler", {"spec": {"metrics": [metric] * 4}, "status": {}})
    assert row["Targets"] == "<unknown>/5, <unknown>/5 + 2 more..."


def test_an_event_series_dates_and_counts_by_its_last_occurrence() -> None:
    series = {"count": 7, "lastObservedTime": "2026-01-01T00:09:00.000000Z"}
    row = cells("", "Event", {"eventTime": "2026-01-01T00:00:00.000000Z", "series": series, "involvedObject": {}})
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == ("60s", "10m", 7)


def test_a_kind_without_columns_of_its_own_shows_when_it_was_created() -> None:
    assert cells("rbac.authorization.k8s.io", "Role", {}) == {"Name": "x", "Created At": "2026-01-01T00:00:00Z"}


def test_custom_columns_have_the_type_the_definition_gives() -> None:
    columns = (
        PrinterColumn(name="Text", type="string", path=".spec.number"),
        PrinterColumn(name="Object", type="string", path=".spec.map"),
        PrinterColumn(name="Number", type="integer", path=".spec.number"),
        PrinterColumn(name="Wrong", type="integer", path=".spec.flag"),
        PrinterColumn(name="Flag", type="boolean", path=".spec.flag"),
        PrinterColumn(name="Gone", type="string", path=".spec.nothing"),
        PrinterColumn(name="Bad", type="string", path=".spec[unquoted]"),
        PrinterColumn(name="Since", type="date", path=".metadata.creationTimestamp"),
    )
    row = cells("x.example", "X", {"spec": {"number": 3, "flag": True, "map": {"a": [1]}}}, columns)
    expected = {"Text": "3", "Object": '{"a":[1]}', "Number": 3, "Wrong": None, "Flag": True, "Gone": None, "Bad": None}
    assert row == {"Name": "x", **expected, "Since": "10m"}


def test_a_custom_resource_without_columns_shows_its_age() -> None:
    assert cells("x.example", "X", {}, ()) == {"Name": "x", "Age": "10m"}


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(seconds=-5), "<invalid>"),
        (timedelta(seconds=-1), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=9, seconds=30), "9m30s"),
        (timedelta(minutes=179), "179m"),
        (timedelta(hours=3, minutes=5), "3h5m"),
        (timedelta(hours=47, minutes=59), "47h"),
        (timedelta(days=6, hours=23), "6d23h"),
        (timedelta(days=324), "324d"),
        (timedelta(days=365 * 3), "3y"),
        (timedelta(days=365 * 3 + 7), "3y7d"),
        (timedelta(days=365 * 9), "9y"),
    ],
    ids=str,
)
def test_a_duration_has_two_units_at_most(duration: timedelta, text: str) -> None:
    assert human_duration(duration) == text


@pytest.mark.parametrize("moment", [None, "", "yesterday"])
def test_an_age_without_a_beginning_is_unknown(moment: str | None) -> None:
    assert age(moment, NOW) == "<unknown>"


DOCUMENT = {
    "a": {"b.c": 1, "list": [{"type": "Ready", "status": "True", "n": 2}, {"type": "Active", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ('.a.list[?(@.type=="Ready")].status', ["True"]),
        ("{.a.list[?(@.type=='Active')].status}", ["False"]),
        (".a.list[*].type", ["Ready", "Active"]),
        (".a.list[?(@.n>1)].type", ["Ready"]),
        (".a.list[?(@.n)].type", ["Ready"]),
        (".a.list[-1].type", ["Active"]),
        (".a['b.c']", [1]),
        (".a.b\\.c", [1]),
        (".a.list[7].type", []),
        (".nope.nothing", []),
    ],
)
def test_a_path_finds_its_values(path: str, values: list[Any]) -> None:
    assert list(find(DOCUMENT, path)) == values
    assert find_first(DOCUMENT, path) == (values[0] if values else None)


@pytest.mark.parametrize("path", ["a", ".a[", ".a[x]", ".a[?(x==1)]", ".a[?(@.x==y)]"])
def test_a_path_that_cannot_be_read_is_an_error(path: str) -> None:
    with pytest.raises(PathError):
        find_first(DOCUMENT, path)
