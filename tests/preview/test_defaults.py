"""Defaults among manifests: previewed, validated and accounted for as the operator lays them."""

from pathlib import Path

import pytest
import yaml

from keda_py.cli import main
from keda_py.core.defaults.bodies import DefaultsOfBodies
from keda_py.dashboard.forecast import Forecasts
from keda_py.kube.resources import Obj
from keda_py.savings.reading import read_accounts
from tests.builders import GROUP, a_namespace, cron, keda_defaults, obj
from tests.operator.environments.builders import labelled
from tests.preview.builders import BEGINS, app, look, moves, the

COOLDOWN = keda_defaults("team", "KedaDefaults", "shop", cooldownPeriod=3600, minReplicaCount=0)


def in_shop(*triggers: Obj) -> Obj:
    body = app(*triggers)
    spec = {name: value for name, value in body["spec"].items() if name not in ("cooldownPeriod", "minReplicaCount")}
    return {**body, "metadata": {**body["metadata"], "namespace": "shop"}, "spec": spec}


def test_a_preview_goes_by_the_defaults_and_names_them() -> None:
    subject = the("ScaledObject/app", look(in_shop(cron(desired=1)), COOLDOWN))
    assert moves(subject)[1] == ("Mon 21:00:00", 1, 0)
    assert subject.remarks[0] == "cooldownPeriod 3600: from KedaDefaults team in this namespace"
    assert moves(the("ScaledObject/app", look(in_shop(cron(desired=1)))))[1] == ("Mon 20:05:00", 1, 0)


def test_defaults_of_the_cluster_are_for_the_namespaces_with_their_labels() -> None:
    production = keda_defaults(
        "prod", "ClusterKedaDefaults", cooldownPeriod=3600, namespaceSelector={"matchLabels": {"tier": "prod"}}
    )
    found = look(in_shop(cron(desired=1)), production, labelled(a_namespace("shop"), tier="prod"))
    assert moves(the("ScaledObject/app", found))[1] == ("Mon 21:00:00", 1, 0)
    found = look(in_shop(cron(desired=1)), production, a_namespace("shop"))
    assert moves(the("ScaledObject/app", found))[1] == ("Mon 20:05:00", 1, 0)


def test_no_schedule_of_a_preview_goes_beyond_a_bound() -> None:
    bound = keda_defaults("team", "KedaDefaults", "shop", bounds={"maxReplicaCount": {"atMost": 4}})
    spec = {
        "names": ["app"],
        "periods": [{"name": "day", "replicas": 9, "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]}],
    }
    schedule = obj(GROUP, "ScalingSchedule", "days", "shop", spec=spec)
    found = the("ScaledObject/app", look(in_shop(cron(desired=1)), bound, schedule))
    assert max(after for _, _, after in moves(found)) == 4


def test_defaults_that_cannot_be_used_are_a_problem_of_the_preview() -> None:
    wrong = keda_defaults("team", "KedaDefaults", "shop", minReplicaCount=9, maxReplicaCount=2)
    assert look(in_shop(cron(desired=1)), wrong).problems == (
        "KedaDefaults shop/team: spec.minReplicaCount: 9 is more than maxReplicaCount 2; lower it",
    )


def test_the_page_shows_each_default_and_where_it_is_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump_all([in_shop(cron(desired=1)), COOLDOWN]))
    assert main(["preview", "--from", "2026-11-23", str(file)]) == 0
    page = capsys.readouterr().out
    assert "cooldownPeriod 3600: from KedaDefaults team in this namespace" in page
    assert "Mon 23 21:00:00" in page


def test_a_change_of_defaults_makes_the_forecast_of_the_dashboard_anew() -> None:
    body = in_shop(cron(desired=1))
    first = Forecasts().renewed({"shop": [body], "": []}, BEGINS)
    second = first.renewed({"shop": [body, COOLDOWN], "": []}, BEGINS)
    ends = []
    for forecasts in (first, second):
        subject = forecasts.find(("ScaledObject", "shop", "app"))
        assert subject is not None
        ends.append(moves(subject)[1][0])
    assert ends == ["Mon 20:05:00", "Mon 21:00:00"]


def test_savings_are_counted_against_the_minimum_in_force() -> None:
    body = in_shop(cron(desired=1))
    ledger = {
        "at": "2026-11-23T00:00:00Z",
        "replicas": 2,
        "instead": 2,
        "totalReplicaSeconds": 1,
        "totalSavedSeconds": 1,
        "month": {"name": "2026-11", "seconds": 1, "asleepSeconds": 0, "replicaSeconds": 1, "savedSeconds": 0},
    }
    body["status"] = {"kedaPySavings": ledger}
    defaults = DefaultsOfBodies([keda_defaults("team", "KedaDefaults", "shop", minReplicaCount=2)])
    (account,) = read_accounts([body], {}, [], BEGINS, defaults.layers)
    assert (account.minimum, account.sleeps) == (2, False)
