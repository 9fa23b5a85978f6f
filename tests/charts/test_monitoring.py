"""What charts/keda-py gives to Prometheus and Grafana is about series that the operator really has."""

import os
import re  # noqa: TID251 (constant patterns over the chart's own files)
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import generate_latest

from keda_py.telemetry.prometheus import OperatorMetrics
from keda_py.telemetry.waker_metrics import WakerMetrics
from tests.charts.monitoring import alerts, dashboard, expressions
from tests.charts.rendering import KEDA_PY, Obj, only, render
from tests.servers import binary

NAME = re.compile(r"\b(?:keda|leader_election|rest_client|process|kube|aggregator)_[a-z_]+")
OTHERS = ("kube_", "aggregator_")
"""Series of kube-state-metrics and of the API server."""


def served() -> set[str]:
    """Names of series on the pages of operator and waker."""
    pages = [generate_latest(one.registry).decode() for one in (OperatorMetrics(), WakerMetrics())]
    types = [line.split()[2:] for page in pages for line in page.splitlines() if "# TYPE" in line]
    names = {name for name, _ in types}
    return names | {
        f"{name}{end}" for name, kind in types if kind == "histogram" for end in ("_bucket", "_sum", "_count")
    }


def test_alerts_ask_for_series_that_there_are() -> None:
    asked = {name for alert in alerts() for name in NAME.findall(alert["expr"]) if not name.startswith(OTHERS)}
    assert asked - served() == set()


def test_the_inhibition_rule_is_about_an_alert_and_a_label_that_there_are() -> None:
    (rule,) = yaml.safe_load((KEDA_PY / "inhibition.yaml").read_text())["inhibit_rules"]
    (source,) = rule["source_matchers"]
    (alert,) = (one for one in alerts() if source == f'alertname = "{one["alert"]}"')
    assert f"by ({', '.join(rule['equal'])})" in alert["expr"]
    assert alert["labels"] == {"severity": "none"}
    (target,) = rule["target_matchers"]
    assert re.fullmatch(target.partition("!~ ")[2].strip('"'), alert["alert"]), "it does not inhibit itself"


def test_the_dashboard_asks_for_series_that_there_are() -> None:
    board = dashboard()
    asked = {name for expr in expressions(board["panels"]) for name in NAME.findall(expr)}
    asked |= {name for one in board["templating"]["list"] for name in NAME.findall(one["query"])}
    assert {name for name in asked if not name.startswith(OTHERS)} - served() == set()


def test_the_readme_names_each_metric_of_the_waker() -> None:
    page = generate_latest(WakerMetrics().registry).decode()
    names = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE keda_py_waker_")}
    assert names
    assert {f"`{name}`" for name in names} - set(re.findall(r"`[a-z_]+`", (KEDA_PY / "README.md").read_text())) == set()


def test_no_panel_covers_another() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_the_monitors_find_the_operators_port_by_its_labels() -> None:
    wanted = {"prometheus": {"operator": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}}}
    objects = render(**wanted)
    chosen = only(objects, "ServiceMonitor", "keda-operator", "keda")["spec"]["selector"]["matchLabels"].items()
    found = [one["metadata"]["name"] for one in objects if one["kind"] == "Service" and chosen <= labels_of(one)]
    assert found == ["keda-operator"]
    pod = only(objects, "Deployment", "keda-operator", "keda")["spec"]["template"]
    monitor = only(objects, "PodMonitor", "keda-operator", "keda")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= labels_of(pod)
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}


def labels_of(one: Obj) -> Any:
    return one["metadata"]["labels"].items()


def test_prometheus_understands_the_rules_and_they_fire_when_they_should(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "keda-py", "rules": alerts()}]}))
    cases = [shutil.copy(case, tmp_path) for case in sorted(Path(__file__).parent.glob("alerts_*test.yaml"))]
    assert len(cases) == 2
    command = [binary("promtool", "prometheus"), "test", "rules", *cases]
    seldom = {**os.environ, "GOGC": "400"}  # garbage is collected seldom: a quarter less CPU
    done = subprocess.run(command, env=seldom, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
