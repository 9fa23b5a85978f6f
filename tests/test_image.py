"""The Dockerfile, read as the engine reads it: there is none here to build with."""

import json
import shlex
from typing import Any

import pytest

from keda_py.settings.settings import Settings
from tests.documents import read_all
from tests.places import ROOT


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, as (word, rest)."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    instructions = [line.partition(" ")[::2] for line in lines if line and not line.startswith("#")]
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions:
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def of(stage: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for one, rest in stage if one == word]


def pip_installs(text: str) -> list[list[str]]:
    """What follows `pip install` in the lines of a script."""
    lines = [
        shlex.split(line, comments=True) for line in text.splitlines() if "bin/pip" in line and " install " in line
    ]
    return [words[words.index("install") + 1 :] for words in lines]


def test_it_installs_what_the_checks_install_in_a_clean_environment() -> None:
    build, _ = stages()
    image = pip_installs("\n".join(of(build, "RUN")))
    assert image == [["--quiet", ".[all]"]]
    assert image == pip_installs((ROOT / ".ci" / "run").read_text())


def test_the_image_holds_the_environment_and_nothing_of_the_build() -> None:
    _, final = stages()
    assert of(final, "COPY") == ["--from=build /opt/keda-py /opt/keda-py"]
    assert of(final, "RUN") == []
    assert {rest.split()[0] for stage in stages() for rest in of(stage, "FROM")} == {"python:3.12-slim"}


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


@pytest.mark.parametrize("name", ["keda_py", "scalers", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"])
def test_what_the_wheel_is_made_of_reaches_the_engine(name: str) -> None:
    assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines()
    assert (ROOT / name).exists()


def test_the_chart_gives_the_arguments_of_the_entry_point() -> None:
    golden: list[Any] = list(read_all((ROOT / "tests/charts/golden/default.yaml").read_text()))
    (deployment,) = [one for one in golden if one and one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "command" not in container
    assert container["args"][0] == "operator"
