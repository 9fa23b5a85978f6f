"""What Helm makes of the nightly examples' own charts."""

from pathlib import Path

import pytest

from keda_py.validation.report import validate_texts
from tests.examples.charts import built, helm, rendered
from tests.examples.pages import ENVIRONMENTS, EXAMPLES

OBJECTS = {"nightly-scale-down": 1, "nightly-environments": 3}
"""That `keda-py validate` judges, in an environment that is scaled."""


@pytest.fixture(params=OBJECTS)
def chart(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return built(tmp_path, request.param)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_the_manifests_are_what_helm_makes_of_the_chart(chart: Path, environment: str) -> None:
    render = rendered(chart, environment)
    assert (EXAMPLES / chart.parent.name / f"{environment}.yaml").read_text(encoding="utf-8") == render
    report = await validate_texts({environment: render})
    assert (report.problems, report.objects) == ((), 0 if environment == "production" else OBJECTS[chart.parent.name])


def test_the_strict_lint_is_clean(chart: Path) -> None:
    assert helm().lint(str(chart), strict=True)["errors"] == []
