"""`keda-py savings`: a month's statement of a cluster."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.cli import main
from keda_py.core.savings.statement import Against, Prices, StatementPeriod
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.savings.command import SavingsOptions, month_of, period_of
from keda_py.savings.pages import ClusterAccounts, document, statement
from keda_py.savings.reading import count_waiting, count_without_days, indexed, read_accounts, read_overrides
from tests.builders import cron, deployment, obj, scaled_object

HOUR, WEEK = 3600, 7 * 86400
STORED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
MONTH = StatementPeriod(month="2026-11", until=STORED_AT)


def stored(name: str = MONTH.month, **sums: int) -> dict[str, Any]:
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


def found(*bodies: Obj, workloads: tuple[Obj, ...] = (), now: datetime = STORED_AT) -> ClusterAccounts:
    environment = obj("keda-py.dev/v1alpha1", "Environment", "dev", "shop", spec={"calendarRef": {"name": "office"}})
    environment["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return ClusterAccounts(accounts=read_accounts(bodies, indexed(workloads, "Deployment"), [environment], now))


SLEPT = {"asleepSeconds": 10 * HOUR, "replicaSeconds": 20 * HOUR, "savedSeconds": 30 * HOUR}


def test_requests_times_replica_hours_are_saved_and_have_a_price() -> None:
    workload = deployment(namespace="shop", resources={"requests": {"cpu": "500m", "memory": "2Gi"}})
    body = document(found(app(sums=SLEPT), workloads=(workload,)), MONTH, Prices(cpu=0.1, memory=0.01, replica=1))
    assert body["objects"] == [
        {
            "kind": "ScaledObject",
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
    two = found(app(sums=SLEPT), app("other", sums=SLEPT), workloads=(deployment("other", namespace="shop"),))
    page = statement(two, MONTH, Prices(), 200).plain
    assert "CPU and memory are those of 1 of 2 objects" in page
    only = document(found(app(sums=SLEPT)), MONTH, Prices(cpu=1))["objects"][0]
    assert (only["name"], only["coreHoursSaved"], only["money"]) == ("app", None, None)
    assert not document(two, MONTH, Prices())["total"]["requestsKnown"]
    assert "namespace shop" in page
    assert "Environment shop/dev" in page


def test_a_month_of_which_nothing_is_kept_is_not_taken_for_another() -> None:
    assert (
        "nothing is accounted in 2026-08"
        in statement(found(app()), replace(MONTH, month="2026-08"), Prices(), 80).plain
    )
    assert document(found(app()), replace(MONTH, month="2026-08"), Prices())["objects"] == []


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
    waste = [one["text"] for one in document(found(body), MONTH, Prices())["waste"]]
    assert [words in text for text in waste] == ([True] if words else [])


def test_a_source_that_fails_is_waste_at_once() -> None:
    body = app(sums={"seconds": HOUR})
    body["status"]["health"] = {"s0-cron": {"status": "Failing", "numberOfFailures": 3}}
    assert "s0-cron" in document(found(body), MONTH, Prices())["waste"][0]["text"]


def test_objects_without_an_account_are_left_out() -> None:
    assert found(scaled_object(cron(), namespace="shop")).accounts == []


@pytest.mark.parametrize("month", ["2026-13", "november", "2026-11-01"])
def test_a_month_is_written_as_a_month(month: str) -> None:
    with pytest.raises(ConfigError, match="is not a month; write for example 2026-11"):
        month_of(month, STORED_AT)


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
    later = found(body, workloads=(workload,), now=STORED_AT + timedelta(hours=2))
    only = document(later, MONTH, Prices())["objects"][0]
    assert (only["asleepHours"], only["replicaHoursUsed"]) == (asleep, used)


def days(**replicas: float) -> list[dict[str, Any]]:
    """A day's replicas on average, by its number, as d13."""
    return [
        {"name": f"2026-11-{name[1:]}", "seconds": 86400, "asleepSeconds": 0, "replicaSeconds": round(count * 86400)}
        for name, count in replicas.items()
    ]


@pytest.mark.parametrize(
    ("against", "saved", "words"),
    [
        (Against.HPA, 30.0, "against the HPA alone"),
        (Against.ALWAYS, 7 * 24 - 20.0, "against one replica all the time"),
        (Against.LAST_WEEK, 24 * (4 - 2 + 1 - 2), "against the same days of the week before"),
    ],
)
def test_a_saving_is_against_what_would_have_been_instead_and_says_so(
    against: Against, saved: float, words: str
) -> None:
    body = app(sums=SLEPT)
    body["status"]["kedaPySavings"]["days"] = days(d05=9, d06=4, d07=1, d13=2, d14=2, d18=7, d20=8)
    page = document(found(body), replace(MONTH, against=against), Prices())
    assert (page["counterfactual"], page["total"]["replicaHoursSaved"]) == (against.value, saved)
    assert page["against"].startswith(words)
    assert words in statement(found(body), replace(MONTH, against=against), Prices(), 200).plain


def test_without_a_week_before_nothing_is_said_of_it() -> None:
    body = app(sums=SLEPT)
    body["status"]["kedaPySavings"]["days"] = days(d13=2, d18=7)
    page = statement(found(body), replace(MONTH, against=Against.LAST_WEEK), Prices(), 200).plain
    assert page.startswith("nothing is accounted in the seven days before today")


def test_last_week_is_no_month() -> None:
    wanted = SavingsOptions(namespace="", month="2026-10", prices=Prices(), against=Against.LAST_WEEK)
    with pytest.raises(ConfigError, match="leave out --month"):
        period_of(wanted, STORED_AT)


def test_hours_that_failing_sources_cost_are_waste() -> None:
    body = app(sums={"asleepSeconds": 1, "failingSeconds": 5 * HOUR})
    (waste,) = document(found(body), MONTH, Prices())["waste"]
    assert waste["text"].startswith("was up for 5.0 h only because its sources failed")


def test_overrides_that_keep_things_up_are_waste() -> None:
    def override(name: str, **spec: Any) -> Obj:
        body = obj("keda-py.dev/v1alpha1", "Override", name, "shop", spec=spec)
        body["metadata"]["creationTimestamp"] = "2026-11-18T12:00:00Z"
        return {**body, "status": {"requestedBy": "jane"}}

    environment = obj("keda-py.dev/v1alpha1", "Environment", "dev", "shop", spec={"calendarRef": {"name": "office"}})
    environment["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    written = [
        override("late", state="Awake", until="2026-11-19T12:00:00Z", reason="release"),
        override("three", replicas=3, target={"kind": "Deployment", "name": "web"}),
        override("short", state="Awake", **{"for": "30m"}),
        override("off", state="Asleep", until="2026-11-20T12:00:00Z"),
        override("unknown", state="Awake", until="NextChange"),
    ]
    told = ClusterAccounts(accounts=[], overrides=read_overrides(written, [environment]))
    waste = [(one["title"], one["text"]) for one in document(told, MONTH, Prices())["waste"]]
    assert [(title, text.partition(" by ")[0]) for title, text in waste] == [
        ("shop/dev", "kept awake for 24.0 h, in its hours or not,"),
        ("shop/web", "kept awake for 48.0 h, in its hours or not,"),
    ]
    assert waste[0][1].endswith("Override late by jane (Awake until 2026-11-19T12:00:00Z): release")


def closed(**members: dict[str, Any]) -> Obj:
    """An Environment with accounts of its members."""
    environment = obj("keda-py.dev/v1alpha1", "Environment", "dev", "shop", spec={"calendarRef": {"name": "office"}})
    environment["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    accounts = {f"Deployment/{name}": stored(**sums) | {"instead": 2} for name, sums in members.items()}
    return environment | {"status": {"savings": accounts}}


def test_what_an_environment_saves_of_workloads_without_a_scaled_object_is_counted() -> None:
    workload = deployment("mail", 0, namespace="shop", resources={"requests": {"cpu": "500m", "memory": "2Gi"}})
    accounts = read_accounts([], indexed([workload], "Deployment"), [closed(mail=SLEPT)], STORED_AT)
    only = document(ClusterAccounts(accounts=accounts), MONTH, Prices())["objects"][0]
    assert (only["kind"], only["name"], only["environment"]) == ("Deployment", "mail", "dev")
    assert (only["replicaHoursSaved"], only["coreHoursSaved"], only["gibHoursSaved"]) == (30.0, 15.0, 60.0)
    page = statement(ClusterAccounts(accounts=accounts), MONTH, Prices(), 200).plain
    assert "Deployment shop/mail" in page
    assert "against the count that its Environment gives back" in " ".join(page.split())


def test_what_a_scaled_object_scales_is_counted_once() -> None:
    accounts = read_accounts([app(sums=SLEPT)], {}, [closed(app=SLEPT)], STORED_AT)
    assert [one.title for one in accounts] == ["shop/app"]


@pytest.mark.parametrize("status", [{"savings": 5}, {"savings": {"Deployment/x": 5}}, {"savings": {"x": {"at": "y"}}}])
def test_accounts_of_another_form_are_left_out(status: Any) -> None:
    assert read_accounts([], {}, [closed() | {"status": status}], STORED_AT) == []


@pytest.mark.parametrize(
    ("requests", "cores", "memory", "words"),
    [
        ({"cpu": "500m"}, 15.0, None, "memory is that of 0 of 1 objects"),
        ({"memory": "2Gi"}, None, 60.0, "CPU is that of 0 of 1 objects"),
    ],
)
def test_requests_of_one_resource_alone_are_figures(
    requests: dict[str, str], cores: float | None, memory: float | None, words: str
) -> None:
    workload = deployment(namespace="shop", resources={"requests": requests})
    one = found(app(sums=SLEPT), workloads=(workload,))
    only = document(one, MONTH, Prices())["objects"][0]
    assert (only["coreHoursSaved"], only["gibHoursSaved"], only["requestsKnown"]) == (cores, memory, False)
    assert words in statement(one, MONTH, Prices(), 200).plain
    priced = document(one, MONTH, Prices(cpu=0.1))["objects"][0]["money"]
    assert priced == (None if cores is None else 1.5)


def test_a_statement_says_as_of_when_it_is() -> None:
    assert (
        "saved in 2026-11, as of Fri 20 Nov 2026 12:00 UTC, against"
        in statement(found(app()), MONTH, Prices(), 300).plain
    )
    assert document(found(app()), MONTH, Prices())["asOf"] == "2026-11-20T12:00:00Z"


def test_it_is_said_when_the_first_figure_comes() -> None:
    objects, environments = [scaled_object(cron(), namespace="shop")], [closed()]
    none = ClusterAccounts(accounts=[], waiting=count_waiting(objects, environments))
    page = statement(none, MONTH, Prices(), 300).plain
    assert "2 objects are not accounted yet: expect the first figures when they sleep or wake next" in page
    assert "six hours after the operator first saw it" in page
    assert document(none, MONTH, Prices())["notAccountedYet"] == 2
    assert "not accounted yet" not in statement(none, replace(MONTH, month="2026-10"), Prices(), 300).plain
    assert "expect the first figures when something does" in statement(found(app()), MONTH, Prices(), 300).plain
    assert "when something does" not in statement(found(app(sums=SLEPT)), MONTH, Prices(), 300).plain
    some = ClusterAccounts(accounts=found(app(sums=SLEPT)).accounts, waiting=1)
    assert "1 object is not accounted yet" in statement(some, MONTH, Prices(), 300).plain
    assert count_waiting([app(sums=SLEPT)], [closed(mail=SLEPT)]) == 0


def test_workloads_whose_days_are_not_kept_are_named_in_a_comparison_with_last_week() -> None:
    """A status has room for the days of a hundred; the others were left out without a word."""
    environments = [
        obj("keda-py.dev/v1alpha1", "Environment", name, "shop", spec={"calendarRef": {"name": "office"}})
        | {"status": {"savings": {f"Deployment/web-{number}": stored() for number in range(count)}}}
        for name, count in (("many", 101), ("few", 100))
    ]
    crowded = ClusterAccounts(
        accounts=read_accounts([], {}, environments, STORED_AT), without_days=count_without_days(environments)
    )
    week = replace(MONTH, against=Against.LAST_WEEK)
    told = "Environment shop/many: 101 workloads are left out: days are kept of 100 at most in one Environment"
    assert told in " ".join(statement(crowded, week, Prices(), 200).plain.split())
    assert document(crowded, week, Prices())["withoutDays"] == {"shop/many": 101}
    assert "left out" not in statement(crowded, MONTH, Prices(), 200).plain
