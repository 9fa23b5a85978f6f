"""The alerts and the dashboard of charts/keda-py, for tests of what they say and of what Prometheus makes of it."""

import json
from collections.abc import Iterator
from typing import Any

from tests.charts.rendering import Obj, only, render

ALERTS: dict[str, Any] = {"prometheus": {"operator": {"prometheusRules": {"enabled": True}}}}


def alerts() -> list[Obj]:
    rule = only(render(**ALERTS), "PrometheusRule", "keda-operator", "keda")
    found: list[Obj] = rule["spec"]["groups"][0]["rules"]
    return found


def dashboard() -> Obj:
    config = only(render(grafana={"dashboard": {"enabled": True}}), "ConfigMap", "keda-operator-dashboard", "keda")
    found: Obj = json.loads(config["data"]["keda-py.json"])
    return found


def expressions(panels: list[Obj]) -> Iterator[str]:
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets") or ())
