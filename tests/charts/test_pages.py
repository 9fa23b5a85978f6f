"""The commands of the pages about installing, as typed: values that the chart has, and an uninstall that ends."""

import re  # noqa: TID251 - constant patterns over our own pages
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, TRIGGER_AUTHENTICATIONS
from tests.builders import cron, deployment, scaled_job, scaled_object
from tests.charts import exercise
from tests.charts.installed import SHOP, installed
from tests.charts.rendering import KEDA_PY, helm, text
from tests.localkube.kubectl import Kubectl, needs_kubectl
from tests.places import ROOT

PAGES = ("README.md", "INSTALLING.md", "MIGRATING.md", "charts/keda-py/README.md")


def typed(page: str) -> list[list[str]]:
    """The words of the commands for helm and kubectl in its blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in re.split(r"&&|\|", line)]
    return [shlex.split(part, comments=True) for part in parts if part.startswith(("helm ", "kubectl "))]


@pytest.mark.parametrize("page", PAGES)
def test_the_values_that_a_page_sets_are_those_of_the_chart(page: str) -> None:
    for words in typed(page):
        if words[0] == "helm" and any(word.endswith("charts/keda-py") for word in words):
            given = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
            values = helm().parse_set_string(",".join(given)) if given else {}
            assert "kind: Deployment" in text(KEDA_PY, values), words  # an unknown value is refused


def test_the_tables_of_values_are_those_of_values_yaml() -> None:
    made = [sys.executable, str(ROOT / ".ci/chart_readme.py"), "--check", "charts/keda-py", "charts/scaled-app"]
    done = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_names_the_chart_of_the_registry_as_the_workflow_pushes_it() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert 'helm push "$chart" "oci://$CHART_REPOSITORY"' in workflow
    assert "CHART_REPOSITORY (REGISTRY/owner/charts)" in workflow
    installs = [words for words in typed("INSTALLING.md") if words[:2] == ["helm", "install"]]
    assert "oci://REGISTRY/charts/keda-py" in installs[0]


@needs_kubectl
async def test_all_that_the_page_deletes_before_an_uninstall_goes_while_the_operator_runs(tmp_path: Path) -> None:
    section = (ROOT / "INSTALLING.md").read_text().partition("## Uninstalling")[2]
    deletes = [
        words[1:] for words in typed("INSTALLING.md") if words[:2] == ["kubectl", "delete"] and "-f" not in words
    ]
    assert deletes
    assert all(shlex.join(words) in section for words in deletes)
    async with installed(tmp_path, with_webhook=True) as here:
        window = cron("0 8 * * *", "0 20 * * *")
        await here.scene.client.create(SCALED_JOBS, scaled_job(window, name="work", namespace=SHOP))
        await here.scene.create(deployment(), scaled_object(window))
        name = exercise.named("TriggerAuthentication", "own", spec={"env": [{"parameter": "a", "name": "B"}]})
        await here.scene.client.create(TRIGGER_AUTHENTICATIONS, name)
        await here.scene.condition("Ready", "True")
        kubectl = Kubectl(kubeconfig=tmp_path / "admin", cache=tmp_path / "cache")
        for words in deletes:
            await kubectl.run(*words, "--timeout=120s")
        for resource in (SCALED_OBJECTS, SCALED_JOBS, TRIGGER_AUTHENTICATIONS):
            assert await here.scene.client.list(resource) == []
