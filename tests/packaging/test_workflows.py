"""The workflows: what they publish and in which order, by which identities, and that nobody's text becomes code."""

import re  # noqa: TID251 - constant patterns over our own files
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.documents import read_file
from tests.places import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PUBLISHING = ("image", "charts", "signatures", "site", "pypi")
SIGNS = {"id-token": "write"}


def jobs(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = read_file(ROOT / ".github" / "workflows" / f"{name}.yml")["jobs"]
    return found


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in jobs(name).values():
        yield from job.get("steps", [])


def scripts(name: str) -> list[str]:
    return [step["run"] for step in steps(name) if "run" in step]


def using(name: str, action: str) -> dict[str, Any]:
    """What the one step is given that uses the action."""
    (found,) = (step for step in steps(name) if step.get("uses", "").startswith(f"{action}@"))
    given: dict[str, Any] = found.get("with", {})
    return given


def test_there_is_one_for_each_night_one_for_the_release_one_for_the_image_and_two_for_each_week() -> None:
    assert [path.stem for path in FILES] == ["e2e", "image", "rebuild", "release", "scorecard"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_named_by_commit_with_the_version_beside_it(path: Path) -> None:
    used = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    for line in used:
        ours = r" +uses: \./\.github/workflows/image\.yml"
        assert re.fullmatch(rf"{ours}| +(- )?uses: [\w-]+/[\w-]+@[0-9a-f]{{40}} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_others_may_write_reaches_no_shell_as_code_and_no_host_is_named(path: Path) -> None:
    assert not [script for script in scripts(path.stem) if "${{" in script]
    assert re.findall(r"[\w-]+\.(?:io|com|dev|org|net)\b", path.read_text()) == []
    assert read_file(path)["permissions"] == {"contents": "read"}


def test_only_a_tag_publishes_after_tests_and_the_index_comes_last() -> None:
    found = jobs("release")
    assert {name for name, job in found.items() if "if" in job or "permissions" in job} == set(PUBLISHING)
    assert {found[name]["if"] for name in PUBLISHING} == {"github.ref_type == 'tag'"}
    assert [found[name]["needs"] for name in PUBLISHING] == [
        ["test", "package"],
        ["image"],
        ["charts"],
        ["signatures"],
        ["site"],
    ]
    assert found["pypi"]["permissions"] == SIGNS
    assert found["pypi"]["environment"] == "pypi"


def test_the_image_is_for_two_architectures_with_provenance_and_its_parts() -> None:
    build = using("image", "docker/build-push-action")
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["provenance"], build["sbom"], build["push"]) == ("mode=max", True, True)


@pytest.mark.parametrize(
    ("answer", "passes"), [("sha256:" + "0a" * 32, True), ("", False), ("sha256:0a", False), ("debian", False)]
)
def test_the_base_is_named_by_the_digest_that_the_registry_answers_or_nothing_is_built(
    answer: str, passes: bool, tmp_path: Path
) -> None:
    (script,) = (step["run"] for step in steps("image") if step.get("id") == "base")
    docker = tmp_path / "docker"
    docker.write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n")
    docker.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_OUTPUT": str(tmp_path / "out"), "REF": "v1.2.3", "SUFFIX": "-7"}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stderr
    if passes:
        assert (tmp_path / "out").read_text() == f"name=debian:12-slim\ndigest={answer}\ntag=1.2.3-7\n"
    else:
        assert "the base image debian:12-slim has no digest" in done.stderr
    assert using("image", "docker/build-push-action")["build-args"] == (
        "BASE_IMAGE=${{ steps.base.outputs.name }}@${{ steps.base.outputs.digest }}"
    )


def test_the_image_is_scanned_before_it_is_signed_and_signed_by_its_digest() -> None:
    used = [step.get("uses", step.get("run", "")) for step in steps("image")]
    order = [
        next(i for i, one in enumerate(used) if one.startswith(begin))
        for begin in ("docker/build-p", "anchore/", "cosign sign")
    ]
    assert order == sorted(order)
    assert used[order[-1]] == 'cosign sign --yes "$IMAGE@$DIGEST"'
    scan = using("image", "anchore/scan-action")
    assert scan["image"].endswith("@${{ steps.build.outputs.digest }}")
    assert (scan["severity-cutoff"], scan["only-fixed"], scan.get("fail-build", True)) == ("high", True, True)


def test_charts_are_made_with_the_digest_that_was_pushed_and_signed_by_their_own() -> None:
    charts = jobs("release")["charts"]
    assert charts["env"]["DIGEST"] == "${{ needs.image.outputs.digest }}"
    assert any('--digest "$DIGEST"' in script for script in scripts("release"))
    assert any("cosign sign --yes" in step.get("run", "") and "helm push" in step["run"] for step in charts["steps"])


@pytest.mark.parametrize("pushed", [True, False])
def test_a_chart_that_was_not_pushed_is_not_signed(pushed: bool, tmp_path: Path) -> None:
    (script,) = (script for script in scripts("release") if "helm push" in script)
    answer = f"Pushed: reg/charts/keda-py:1.2.3\nDigest: sha256:{'0a' * 32}" if pushed else "Error: denied"
    for name, body in (("helm", f"echo '{answer}' >&2; exit {0 if pushed else 1}"), ("cosign", 'echo "$@" >> signed')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dist/charts").mkdir(parents=True)
    (tmp_path / "dist/charts/keda-py-1.2.3.tgz").touch()
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CHART_REPOSITORY": "reg/charts", "GITHUB_REF_NAME": "v1.2.3"}
    # As the runner calls `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    signed = tmp_path / "signed"
    assert (done.returncode == 0, signed.exists()) == (pushed, pushed), done.stderr
    if pushed:
        assert signed.read_text() == f"sign --yes reg/charts/keda-py@sha256:{'0a' * 32}\n"


def test_wheel_and_source_distribution_are_signed_without_a_key_before_they_are_published() -> None:
    job = jobs("release")["signatures"]
    assert job["permissions"] == {"contents": "write", **SIGNS}
    assert any("cosign sign-blob --yes --bundle" in step.get("run", "") for step in job["steps"])
    assert any("for file in dist/python/* dist/files/*" in step.get("run", "") for step in job["steps"])
    assert using("release", "pypa/gh-action-pypi-publish")["attestations"] is True
    text = "".join(path.read_text() for path in FILES)
    assert "cosign.key" not in text
    assert "COSIGN_P" not in text


def test_each_week_the_newest_release_is_built_scanned_and_signed_anew() -> None:
    whole = read_file(ROOT / ".github" / "workflows" / "rebuild.yml")
    assert whole[True]["schedule"] == [{"cron": "17 4 * * 1"}]  # `on` is true to YAML 1.1
    assert jobs("rebuild")["image"]["uses"] == jobs("release")["image"]["uses"] == "./.github/workflows/image.yml"


def test_what_the_workflow_installs_is_locked_by_hash() -> None:
    installs = [
        script for name in ("release", "image", "rebuild") for script in scripts(name) if "pip install" in script
    ]
    assert installs
    ours = "--no-deps --no-build-isolation -e ."
    assert all("--require-hashes -r .ci/locks/" in script or script.endswith(ours) for script in installs)
    assert ".ci/run" in scripts("release")
