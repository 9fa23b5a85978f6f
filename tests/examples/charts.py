"""The nightly examples' own charts, rendered by Helm with the dependency that it names."""

import shutil
from pathlib import Path

import yaml

from tests.charts.rendering import CHARTS, helm
from tests.examples.pages import EXAMPLES


def built(directory: Path, example: str) -> Path:
    """The example's chart in a copy of this repository's folders, after `helm dependency build`."""
    source = EXAMPLES / example / "chart"
    chart = directory / source.relative_to(EXAMPLES.parent)
    shutil.copytree(source, chart)
    shutil.copytree(CHARTS / "scaled-app", directory / "charts" / "scaled-app")
    helm().dependency_update(str(chart))
    return chart


def rendered(chart: Path, environment: str) -> str:
    """What `helm template` prints for that environment, without its comments."""
    values = yaml.safe_load((chart / f"values-{environment}.yaml").read_text(encoding="utf-8"))
    with helm().Chart.load(str(chart)) as loaded:
        pages = loaded.render(values, name="some-application", namespace="some-application")
    kept = [page.strip() for name, page in sorted(pages.items()) if not name.endswith("NOTES.txt")]
    return "".join(f"---\n{page}\n" for page in kept if page.strip("-\n"))
