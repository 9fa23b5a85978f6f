"""The nightly example's own chart, rendered by Helm with the dependency that it names."""

import shutil
from pathlib import Path

import yaml

from tests.charts.rendering import CHARTS, helm
from tests.examples.pages import EXAMPLES

CHART = EXAMPLES / "nightly-scale-down" / "chart"


def built(directory: Path) -> Path:
    """The chart in a copy of this repository's folders, after `helm dependency build`."""
    chart = directory / CHART.relative_to(EXAMPLES.parent)
    shutil.copytree(CHART, chart)
    shutil.copytree(CHARTS / "scaled-app", directory / "charts" / "scaled-app")
    helm.dependency_update(str(chart))
    return chart


def rendered(chart: Path, environment: str) -> str:
    """What `helm template` prints for that environment, without its comments."""
    values = yaml.safe_load((chart / f"values-{environment}.yaml").read_text(encoding="utf-8"))
    with helm.Chart.load(str(chart)) as loaded:
        pages = loaded.render(values, name="some-application", namespace="some-application")
    kept = [page.strip() for name, page in sorted(pages.items()) if not name.endswith("NOTES.txt")]
    return "".join(f"---\n{page}\n" for page in kept if page)
