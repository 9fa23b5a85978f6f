"""`keda-py savings`: a month's statement of a cluster."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.cli import main
from keda_py.core.savings.statement import Prices
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.savings.command import month_of
from keda_py.savings.pages import document, statement
from keda_py.savings.reading import indexed, read_accounts
from tests.builders import cron, deployment, obj, scaled_object

HOUR, WEEK = 3600, 7 * 86400
MONTH = "2026-11"
STORED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def stored(name: str = MONTH, **sums: int) -> dict[str, Any]:
    month = {"name": name, "seconds": WEEK, "asleepSeconds": 0, "replicaSeconds": WEEK, "savedSeconds": 0, **sums}
    return {
        "at": "2026-11-20T12:00:00Z",
        "replicas": 0,
        "instead": 1,
        "month": month,
        "totalReplicaSeconds": 1,
        "totalSavedSeconds": 1,
    }


def app(name: str = "app", *, sums: dict[str, int] | None = None, **spec: Any) -> Obj:
    body = scaled_object(cron(), name=name, namespace="shop", **spec)
    return {**body, "status": {"kedaPySavings": stored(**(sums or {}))}}


def accounts(*bodies: Obj, workloads: tuple[Obj, ...] = (), now: datetime = STORED_AT) -> Any:
    environment = obj("keda-py.dev/v1alpha1", "Environment", "dev", "shop", spec={"calendarRef": {"name": "office"}})
    environment["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read_accounts(bodies, indexed(workloads, "Deployment"), [environment], now)


SLEPT = {"asleepSeconds": 10 * HOUR, "replicaSeconds": 20 * HOUR, "savedSeconds": 30 * HOUR}


def test_requests_times_replica_hours_are_saved_and_have_a_price() -> None:
    workload = deployment(namespace="shop", resources={"requests": {"cpu": "500m", "memory": "2Gi"}})
    body = document(accounts(app(sums=SLEPT), workloads=(workload,)), MONTH, Prices(cpu=0.1, memory=0.01, replica=1))
    assert body["objects"] == [
        {
            "namespace": "shop",
            "name": "app",
            "environment": "dev",
            "asleepHours": 10.0,
            "replicaHoursUsed": 20.0,
            "replicaHoursSaved": 30.0,
            "coreHoursSaved": 15.0,
            "gibHoursSaved": 60.0,
            "requestsKnown": True,
            "money": 32.1,
        }
    ]
    assert body["total"]["money"] == 32.1


def test_what_is_not_known_is_said_and_is_no_zero() -> None:
    found = accounts(app(sums=SLEPT), app("other", sums=SLEPT), workloads=(deployment("other", namespace="shop"),))
    page = statement(found, MONTH, Prices(), 200).plain
    assert "CPU and memory are those of 1 of 2 objects" in page
    only = document(found[:1], MONTH, Prices(cpu=1))["objects"][0]
    assert (only["name"], only["coreHoursSaved"], only["money"]) == ("app", None, None)
    assert not document(found, MONTH, Prices())["total"]["requestsKnown"]
    assert "namespace shop" in page
    assert "Environment shop/dev" in page


def test_a_month_of_which_nothing_is_kept_is_not_taken_for_another() -> None:
    assert "nothing is accounted in 2026-08" in statement(accounts(app()), "2026-08", Prices(), 80).plain
    assert document(accounts(app()), "2026-08", Prices())["objects"] == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (app(), "never slept in 7 days"),
        (app(sums={"replicaSeconds": 2 * WEEK}, minReplicaCount=2), "never had more than minReplicaCount: 2"),
        (app(sums={"asleepSeconds": 1}), ""),
        (app(sums={"replicaSeconds": 3 * WEEK}, minReplicaCount=2), ""),
        (app(sums={"seconds": WEEK // 2}), ""),
    ],
    ids=["never slept", "at its minimum", "slept", "needed more", "observed for half a week"],
)
def test_waste_is_named(body: Obj, words: str) -> None:
    waste = [one["text"] for one in document(accounts(body), MONTH, Prices())["waste"]]
    assert [words in text for text in waste] == ([True] if words else [])


def test_a_source_that_fails_is_waste_at_once() -> None:
    body = app(sums={"seconds": HOUR})
    body["status"]["health"] = {"s0-cron": {"status": "Failing", "numberOfFailures": 3}}
    assert "s0-cron" in document(accounts(body), MONTH, Prices())["waste"][0]["text"]


def test_objects_without_an_account_are_left_out() -> None:
    assert accounts(scaled_object(cron(), namespace="shop")) == []


@pytest.mark.parametrize("month", ["2026-13", "november", "2026-11-01"])
def test_a_month_is_written_as_a_month(month: str) -> None:
    with pytest.raises(ConfigError, match="is not a month; write for example 2026-11"):
        month_of(month)


def test_wrong_prices_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["savings", "--price-per-core-hour=-1"])
    assert "is no price" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "live", "asleep", "used"),
    [(0, 0, 2, 0), (3, 2, 0, 4), (0, 1, 0, 0), (1, 0, 0, 0)],
    ids=["asleep still", "awake still", "woken", "gone to sleep"],
)
def test_since_it_was_stored_counts_what_is_known(count: int, live: int, asleep: int, used: int) -> None:
    body, workload = app(sums={"replicaSeconds": 0}), deployment("app", live, namespace="shop")
    body["status"]["kedaPySavings"]["replicas"] = count
    found = accounts(body, workloads=(workload,), now=STORED_AT + timedelta(hours=2))
    only = document(found, MONTH, Prices())["objects"][0]
    assert (only["asleepHours"], only["replicaHoursUsed"]) == (asleep, used)
