"""What Helm makes of the nightly example's own chart."""

from pathlib import Path

import pytest

from keda_py.validation.report import validate_texts
from tests.examples.charts import built, helm, rendered
from tests.examples.pages import ENVIRONMENTS, EXAMPLES


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    return built(tmp_path)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_the_manifests_are_what_helm_makes_of_the_chart(chart: Path, environment: str) -> None:
    render = rendered(chart, environment)
    assert (EXAMPLES / "nightly-scale-down" / f"{environment}.yaml").read_text(encoding="utf-8") == render
    report = await validate_texts({environment: render})
    assert (report.problems, report.objects) == ((), 0 if environment == "production" else 1)


def test_the_strict_lint_is_clean(chart: Path) -> None:
    assert helm.lint(str(chart), strict=True)["errors"] == []
