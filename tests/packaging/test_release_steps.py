"""The steps of a release, run one after the other as the workflow has them; what is outside is a stand-in."""

import os
import subprocess
import sys
from pathlib import Path

from tests.charts.rendering import helm
from tests.packaging.test_workflows import jobs
from tests.places import ROOT

COSIGN = """#!/bin/sh
# cosign sign-blob --yes --bundle BUNDLE FILE
[ "$1" = sign-blob ] && [ -s "$5" ] && echo signed >"$4"
"""
GH = """#!/bin/sh
printf '%s\\n' "$@" >gh.txt
"""


def run_steps(job: str, folder: Path, env: dict[str, str]) -> None:
    """Run a job's scripts as the runner does, but for what they install."""
    for step in jobs("release")[job]["steps"]:
        script = step.get("run", "")
        if script and "pip install" not in script:
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{script}: {done.stderr}"


def test_all_that_is_packaged_is_signed_and_becomes_a_file_of_the_release(tmp_path: Path) -> None:
    helm()  # or skip
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("cosign", COSIGN), ("gh", GH)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tmp_path / ".ci").symlink_to(ROOT / ".ci")
    env = {
        **os.environ,
        "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SOURCE": "https://example.org/them/keda-py",
        "IMAGE_REPOSITORY": "example.org/them/keda-py",
        "TAG": "",  # with one, CHANGELOG.md needs its part
        "GITHUB_REF_NAME": "v0.1.0",
        "GITHUB_REPOSITORY": "them/keda-py",
    }
    run_steps("package", tmp_path, env)
    made = {path for part in ("python", "files") for path in (tmp_path / "dist" / part).iterdir()}
    assert {path.suffix for path in made} == {".whl", ".gz", ".md", ".yaml", ".json"}
    run_steps("signatures", tmp_path, env)
    told = (tmp_path / "gh.txt").read_text().splitlines()
    assert told[:3] == ["release", "create", "v0.1.0"]
    assert "--notes-file" in told
    published = {tmp_path / one for one in told if one.startswith("dist/") and one != "dist/files/NOTES.md"}
    bundles = {path.with_name(f"{path.name}.sigstore.json") for path in made}
    notes = tmp_path / "dist/files/NOTES.md"
    assert published | {notes} == made | bundles
    assert {bundle.read_text() for bundle in bundles} == {"signed\n"}
