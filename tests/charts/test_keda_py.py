"""charts/keda-py, rendered by Helm itself."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.apis.crds import build_crds

helm = pytest.importorskip("helm_python", reason="pip install helm-python-sdk")

CHART = Path(__file__).parents[2] / "charts/keda-py"


def render(**values: Any) -> list[dict[str, Any]]:
    with helm.Chart.load(str(CHART)) as chart:
        pages = chart.render(values, name="keda", namespace="keda").values()
    return [document for page in pages for document in yaml.safe_load_all(page) if document]


def test_the_definitions_are_those_that_the_command_prints() -> None:
    printed = subprocess.run([sys.executable, "-m", "keda_py", "crds"], capture_output=True, text=True, check=True)
    assert (CHART / "crds.yaml").read_text() == printed.stdout


def test_definitions_survive_an_uninstall_unless_told_otherwise() -> None:
    crds = [one for one in render() if one["kind"] == "CustomResourceDefinition"]
    assert len(crds) == len(list(build_crds()))
    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in crds} == {"keep"}
    assert "helm.sh/resource-policy" not in str(render(crds={"keep": False}))


def test_without_cluster_objects_everything_lives_in_the_namespace() -> None:
    assert {one["metadata"]["namespace"] for one in render(clusterScoped={"create": False})} == {"keda"}


def test_the_strict_lint_is_clean() -> None:
    assert helm.lint(str(CHART), strict=True)["errors"] == []
