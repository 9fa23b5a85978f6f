"""The script of the nightly runs, on the embedded cluster; a stand-in for Helm does what the chart's hook does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import read_file
from tests.e2e.processes import Process
from tests.localkube.kubectl import needs_kubectl
from tests.places import ROOT

SCRIPT = ROOT / ".ci" / "e2e"
# The operator runs beside the embedded cluster already. Before an uninstall the chart's Job runs this command.
HELM = f"""#!/bin/sh
echo "$@" >>"$HELM_LOG"
case $1 in uninstall) exec {sys.executable} -m keda_py release --all --kubeconfig "$KUBECONFIG" ;; esac
"""


@needs_kubectl
def test_the_script_passes_on_the_embedded_cluster(tmp_path: Path) -> None:
    helm, kubeconfig, log = tmp_path / "helm", tmp_path / "kubeconfig", tmp_path / "log"
    helm.write_text(HELM)
    helm.chmod(0o755)
    cluster = Process(["local", f"--kubeconfig={kubeconfig}"])
    try:
        cluster.wait_for("operator started")
        env = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "KUBECONFIG": str(kubeconfig),
            "HELM_LOG": str(log),
        }
        done = subprocess.run([SCRIPT, "e2e.example", "e2e"], env=env, capture_output=True, text=True, check=False)
    finally:
        cluster.end()
    assert done.returncode == 0, done.stdout + done.stderr + cluster.output()
    assert done.stdout.endswith("== passed\n")
    installed, removed = log.read_text().splitlines()
    assert "--set image.keda.registry=e2e.example,image.keda.tag=e2e" in installed
    assert removed.startswith("uninstall keda --namespace keda")


def test_the_script_tries_every_example_that_needs_nothing_but_its_manifests() -> None:
    text = SCRIPT.read_text()
    folders = {path.name for path in (ROOT / "examples").iterdir() if any(path.glob("*.yaml"))}
    others = {"advise", "custom-resource", "custom-scaler", "http-add-on", "nightly-scale-down", "preview-environments"}
    others |= {"defaults", "wake-on-request"}  # they need values of the chart: kedaDefaults.enabled, waker.enabled
    listed = set(text.partition("examples=(")[2].partition(")")[0].replace("\\", " ").split())
    assert listed == folders - others


def test_the_nightly_run_is_for_four_versions_with_an_image_of_that_commit() -> None:
    (job,) = read_file(ROOT / ".github/workflows/e2e.yml")["jobs"].values()
    assert job["strategy"]["matrix"]["kubernetes"] == ["1.31", "1.33", "1.35", "1.37"]
    runs = [step.get("run", step.get("uses", "")).split("@")[0] for step in job["steps"]]
    assert runs.index("helm/kind-action") < runs.index(".ci/e2e e2e.example e2e")
    assert "kind load docker-image e2e.example/keda-py:e2e --name e2e" in runs


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("name", ["e2e", "run"])
def test_the_scripts_are_without_errors_of_syntax(name: str) -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / name)], check=False).returncode == 0
