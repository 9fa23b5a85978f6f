"""charts/scaled-app, rendered by Helm itself."""

from pathlib import Path
from typing import Any

import pytest
import yaml

helm = pytest.importorskip("helm_python", reason="pip install helm-python-sdk")

CHART = Path(__file__).parents[2] / "charts/scaled-app"
NIGHTLY = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: some-application-develop-scaledobject
  namespace: some-application
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: some-application-develop
  cooldownPeriod: 300
  minReplicaCount: 0
  maxReplicaCount: 10
  triggers:
    - type: cron
      metadata:
        timezone: Asia/Seoul
        start: "30 08 * * *"
        end: "30 19 * * *"
        desiredReplicas: "1"
    - type: memory
      metricType: Utilization
      metadata:
        value: "90"
"""


def render(**values: Any) -> str:
    with helm.Chart.load(str(CHART)) as chart:
        return "".join(chart.render(values, name="app", namespace="default").values()).strip()


def test_the_default_is_the_nightly_manifest_line_by_line() -> None:
    assert render() == NIGHTLY.strip()


def test_production_gets_no_scaled_object() -> None:
    assert render(env="production") == ""


def test_working_days_end_up_in_both_cron_fields() -> None:
    cron = yaml.safe_load(render(schedule={"weekdays": "1-5"}))["spec"]["triggers"][0]["metadata"]
    assert (cron["start"], cron["end"]) == ("30 08 * * 1-5", "30 19 * * 1-5")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": 2}, "replicas"),
        ({"schedule": {"start": "30 19"}}, "two different times"),
        ({"schedule": {"start": "30 8", "end": "30 08"}}, "two different times"),
        ({"schedule": {"start": "61 08"}}, "start"),
        ({"minReplicaCount": 11}, "above maxReplicaCount"),
        ({"maxReplicaCount": "10"}, "maxReplicaCount"),
    ],
)
def test_values_that_cannot_work_fail_when_the_chart_is_rendered(values: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        render(**values)


def test_the_strict_lint_is_clean() -> None:
    report = helm.lint(str(CHART), strict=True)
    assert report["errors"] == []
