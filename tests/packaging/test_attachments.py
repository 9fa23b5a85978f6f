"""The files of a release beside its packages: definitions, parts list, krew's plug-in, notes."""

import hashlib
import json
import os
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from keda_py import __version__
from keda_py.apis.kinds.crds import build_crds
from tests.charts.rendering import helm
from tests.documents import read_all, read_file
from tests.packaging.locks import pins
from tests.places import ROOT

SOURCE = "https://example.org/them/keda-py"
SCRIPT = ROOT / ".ci" / "attachments.py"
RULES: dict[str, Any] = runpy.run_path(str(SCRIPT))


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("attachments") / "files"
    done = make("--out", str(out), "--source-url", SOURCE)
    assert done.returncode == 0, done.stderr
    assert {Path(line) for line in done.stdout.splitlines()} == set(out.iterdir())
    return out


def test_the_definitions_in_one_file_are_those_that_the_operator_is_written_for(made: Path) -> None:
    assert list(read_all((made / "crds.yaml").read_text())) == list(build_crds())


def test_the_parts_list_names_all_that_the_lock_installs_with_versions_and_hashes(made: Path) -> None:
    bill = json.loads((made / "sbom.json").read_text())
    parts = {
        (canonicalize_name(one["name"]), one["version"]): len(one["externalReferences"]) for one in bill["components"]
    }
    assert parts == {(pin.name, str(pin.version)): pin.hashes for pin in pins("operator")}
    assert all(count > 0 for count in parts.values())
    (whole,) = bill["dependencies"]
    assert set(whole["dependsOn"]) == {one["bom-ref"] for one in bill["components"]}


def unpacked(made: Path, folder: Path) -> Path:
    """krew's way: the archive of the manifest, its digest checked, and the program that the manifest names."""
    (platform,) = read_file(made / "keda-py.yaml")["spec"]["platforms"]
    archive = made / platform["uri"].removeprefix(f"{SOURCE}/releases/download/v{__version__}/")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    program = folder / platform["bin"]
    assert os.access(program, os.X_OK)
    return program


@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_the_plug_in_runs_this_version_by_the_tool_that_is_there(tool: str, made: Path, tmp_path: Path) -> None:
    program = unpacked(made, tmp_path / "plugin")
    (tmp_path / tool).write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / tool).chmod(0o755)
    env = {"PATH": str(tmp_path)}
    done = subprocess.run(["/bin/sh", str(program), "env", "-A"], env=env, capture_output=True, text=True, check=True)
    assert f"keda-py[all]=={__version__}" in done.stdout
    assert done.stdout.endswith("keda-py env -A\n")


def test_the_plug_in_says_what_it_needs_where_neither_is(made: Path, tmp_path: Path) -> None:
    program = unpacked(made, tmp_path / "plugin")
    env = {"PATH": str(tmp_path)}
    done = subprocess.run(["/bin/sh", str(program), "env"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "install one" in done.stderr


def test_the_plug_in_is_made_of_the_same_bytes_each_time(made: Path, tmp_path: Path) -> None:
    assert make("--out", str(tmp_path)).returncode == 0
    archive = f"kubectl-keda_py-{__version__}.tar.gz"
    assert (tmp_path / archive).read_bytes() == (made / archive).read_bytes()


def test_krew_calls_it_as_kubectl_does() -> None:
    manifest = RULES["krew_manifest"]({"version": "1.2.3", "description": "a"}, SOURCE, "a.tar.gz", b"")
    assert manifest["metadata"]["name"] == "keda-py"
    assert manifest["spec"]["platforms"][0]["bin"] == "kubectl-keda_py", "dashes in a plug-in's name are underscores"


CHANGES = (
    "# Changelog\n\n## [Unreleased]\n- not yet\n\n## [1.2.0] - 2026-11-20\n### Added\n- one\n\n## [1.1.0]\n- two\n"
)


def test_the_notes_of_a_release_are_its_part_of_the_changelog() -> None:
    assert RULES["release_notes"](CHANGES, "1.2.0", published=True) == "### Added\n- one\n"
    assert RULES["release_notes"](CHANGES, "1.2.0", published=False) == "- not yet\n"


def test_a_release_without_a_part_of_the_changelog_is_refused() -> None:
    with pytest.raises(RULES["AttachmentError"], match=r"no text under `## \[1\.3\.0\]`; rename"):
        RULES["release_notes"](CHANGES, "1.3.0", published=True)


@pytest.mark.parametrize("name", ["keda-py", "scaled-app"])
def test_artifact_hub_is_told_licence_and_category_of_each_chart(name: str) -> None:
    with helm().Chart.load(str(ROOT / "charts" / name)) as chart:
        told = chart.metadata["annotations"]
    assert told["artifacthub.io/license"] == "Apache-2.0"
    assert told["artifacthub.io/category"] == "monitoring-logging"
    assert set(read_file(ROOT / "charts/artifacthub-repo.yml")) == {"repositoryID", "owners"}
