"""The Dockerfile, read as the engine reads it. tests/packaging/test_image_root.py runs what it copies."""

import json
import re  # noqa: TID251 - constant patterns over our own files
from importlib.metadata import metadata
from typing import Any

import pytest

from keda_py.settings.settings import Settings
from tests.documents import read_all
from tests.packaging.locks import pins
from tests.places import ROOT


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, as (word, rest)."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    instructions = [line.partition(" ")[::2] for line in lines if line and not line.startswith(("#", "ARG "))]
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions:
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def of(stage: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for one, rest in stage if one == word]


def test_it_installs_what_the_checks_install_in_a_clean_environment() -> None:
    build, _ = stages()
    assert of(build, "RUN")[-1] == ".ci/rootfs /rootfs"
    assert '.ci/image "$scratch/environment"' in (ROOT / ".ci" / "rootfs").read_text()
    assert '.ci/image "$scratch/image"' in (ROOT / ".ci" / "run").read_text()


def test_what_is_installed_is_locked_by_hash_and_fetched_for_no_build() -> None:
    script = (ROOT / ".ci" / "image").read_text()
    installs = [line for line in script.splitlines() if line.startswith('"$pip"')]
    assert len(installs) == 4
    for line in installs:
        assert "--require-hashes -r .ci/locks/" in line or "--no-deps" in line, line
        assert " wheel " not in line or "--no-build-isolation" in line


def test_the_image_holds_the_environment_and_nothing_of_the_build() -> None:
    _, final = stages()
    assert of(final, "COPY") == ["--from=build /rootfs /"]
    assert of(final, "RUN") == []


def test_it_is_built_on_the_base_that_a_release_names_by_digest_and_has_no_base_itself() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert [rest.split()[0] for stage in stages() for rest in of(stage, "FROM")] == ["${BASE_IMAGE}", "scratch"]
    assert text.index("ARG BASE_IMAGE=debian:12-slim\n") < text.index("FROM ")


def test_the_notice_names_what_is_under_the_mozilla_licence() -> None:
    notice = (ROOT / "NOTICE").read_text()
    found = set()
    for pin in pins("operator"):
        if pin.holds_here:
            about = metadata(pin.name)
            licences = [about["License-Expression"], about["License"], *about.get_all("Classifier", [])]
            found |= {pin.name for licence in licences if licence and re.search(r"MPL|Mozilla", licence)}
    assert found
    assert {line.split()[1].rstrip(",") for line in notice.splitlines() if line.startswith("- ")} == found


def test_it_runs_as_a_number_that_is_not_root() -> None:
    _, final = stages()
    (user,) = of(final, "USER")
    assert all(int(part) > 0 for part in user.split(":"))


def test_it_starts_the_operator_which_listens_where_it_says() -> None:
    _, final = stages()
    assert [json.loads(rest) for word in ("ENTRYPOINT", "CMD") for rest in of(final, word)] == [
        ["keda-py"],
        ["operator"],
    ]
    serving = Settings().serving
    assert serving.metrics is not None
    assert serving.health is not None
    ports = {serving.secure_port, serving.webhook_port, serving.metrics.port, serving.health.port}
    assert {int(port) for rest in of(final, "EXPOSE") for port in rest.split()} == ports


@pytest.mark.parametrize(
    "name", ["keda_py", "scalers", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE", ".ci"]
)
def test_what_the_wheel_is_made_of_reaches_the_engine(name: str) -> None:
    assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines()
    assert (ROOT / name).exists()


def test_the_chart_gives_the_arguments_of_the_entry_point() -> None:
    golden: list[Any] = list(read_all((ROOT / "tests/charts/golden/default.yaml").read_text()))
    (deployment,) = [one for one in golden if one and one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "command" not in container
    assert container["args"][0] == "operator"
