"""The pages tell the truth: their commands, their tables, their files."""

import contextlib
import json
import re  # noqa: TID251 - constant patterns over our own README
import subprocess
import tomllib
from itertools import pairwise, zip_longest
from pathlib import Path

import pytest

from keda_py.cli import COMMANDS, main
from keda_py.core.values.kubernetes import OLDEST, render_table
from keda_py.sdk.registry import trigger_types
from keda_py.sdk.type_pages import page_of
from keda_py.telemetry.process_metrics import ShardMetrics
from keda_py.telemetry.prometheus import OperatorMetrics
from tests.layout import layout
from tests.places import ROOT

PAGES = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("*.md")}
README = PAGES["README.md"]
SEVEN_FILES = (
    "keda_py/apis/scaled_object.py",
    "keda_py/core/spec.py",
    "keda_py/core/decision.py",
    "keda_py/operator/controller/controller.py",
    "keda_py/operator/scaled_objects/look.py",
    "keda_py/external_metrics/query.py",
    "keda_py/operator/app.py",
)
MOST_LINES = 1200
OURS = "ours alone"
"""The facts of a trigger type that KEDA has not begin so."""
PAIRS = list(pairwise(SEVEN_FILES))


def between(mark: str, page: str = "README.md") -> str:
    return PAGES[page].partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0]


def docstring(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8").split('"""')[1]


def test_every_make_target_named_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", "".join(PAGES.values()), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize(("target", "layer"), [("demo", "all"), ("test", "test"), ("bench", "dev")])
def test_a_make_target_installs_what_it_needs_by_hash(target: str, layer: str, tmp_path: Path) -> None:
    command = ["make", "--dry-run", f"VENV={tmp_path}/venv", target]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"--require-hashes -r .ci/locks/build.lock -r .ci/locks/{layer}.lock" in planned
    assert "--no-deps --no-build-isolation -e ." in planned


def test_every_command_named_in_the_readme_exists() -> None:
    named = set(re.findall(r"(?:^|`)keda-py ([a-z][a-z-]*)", "".join(PAGES.values()), re.MULTILINE))
    assert {"operator", "local", "crds", "scalers"} <= named <= set(COMMANDS)


TYPED = {name: PAGES[name] for name in ("README.md", "INSTALLING.md", "MIGRATING.md", "SECURITY.md")}
"""Pages with commands for people."""


def commands(page: str) -> list[str]:
    """The lines of its blocks of commands, without comments; one that goes on is one line."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.partition(" #")[0].strip() for line in lines if line.partition(" #")[0].strip()]


@pytest.mark.parametrize("page", TYPED)
def test_the_commands_of_a_page_have_the_flags_that_they_are_given(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    inline = re.findall(r"`(keda-py [^`]+)`", TYPED[page])
    typed = [part.strip() for line in [*commands(TYPED[page]), *inline] for part in re.split(r"[|&]+|-- ", line)]
    unknown = []
    for words in (line.split() for line in typed if line.startswith("keda-py ")):
        flags = {word.partition("=")[0] for word in words[2:] if re.fullmatch(r"--[a-z][\w-]*(=.*)?|-[A-Za-z]", word)}
        if flags and words[1] in COMMANDS:
            with contextlib.suppress(SystemExit):
                main([words[1], "--help"])
            told = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", capsys.readouterr().out))
            unknown += [f"{' '.join(words)}: {flag}" for flag in flags - told]
    assert unknown == []


@pytest.mark.parametrize("page", TYPED)
def test_the_files_and_extras_that_a_page_names_in_commands_exist(page: str) -> None:
    text = "\n".join([*commands(TYPED[page]), *re.findall(r"`([^`\n]+)`", TYPED[page])])
    paths = re.findall(r"(?<![\w/.])(?:charts|examples)/[\w./-]+", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    extras = {name for found in re.findall(r"keda-py\[([\w,-]+)\]", text) for name in found.split(",")}
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras <= set(known)


def test_after_the_demo_one_line_says_how_the_command_comes_on_path(tmp_path: Path) -> None:
    command = ["make", "--no-print-directory", "--dry-run", f"VENV={tmp_path}/venv", "demo"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f". {tmp_path}/venv/bin/activate" in planned.splitlines()[-1]
    assert ". .venv/bin/activate" in commands(README)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_to_exists(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[page])
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_is_read_in_five_minutes() -> None:
    assert README.count("\n") < 120


def test_the_manifests_of_the_readme_are_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert len(manifests) == 2
    (tmp_path / "all.yaml").write_text("---\n".join(manifests), encoding="utf-8")
    assert main(["validate", str(tmp_path)]) == 0, capsys.readouterr().out


def test_the_readme_counts_the_trigger_types_and_the_recorded_exchanges() -> None:
    exchanges = json.loads((ROOT / "tests/golden/scaler_http.json").read_bytes())["readMe"]["total"]
    own = [name for name in trigger_types() if page_of(name).tested.startswith(OURS)]
    assert own == ["request"]
    assert f"All {len(trigger_types()) - len(own)} trigger types of KEDA" in README
    assert f"{exchanges:,} recorded HTTP exchanges".replace(",", " ") in README


def test_the_layout_is_what_the_packages_say_of_themselves() -> None:
    assert between("layout", "CONTRIBUTING.md") == layout(), "run: python -m tests.layout"


def test_the_table_of_kubernetes_versions_is_the_one_that_the_code_goes_by() -> None:
    assert between("kubernetes", "COMPATIBILITY.md") == render_table()


def test_the_oldest_version_of_the_table_is_the_one_that_the_chart_asks_for() -> None:
    assert f'kubeVersion: ">=1.{OLDEST}.0-0"' in (ROOT / "charts/keda-py/Chart.yaml").read_text(encoding="utf-8")
    assert f"Kubernetes 1.{OLDEST} and later." in README


def test_the_table_of_our_own_metrics_is_complete() -> None:
    registry = OperatorMetrics().registry
    ShardMetrics(registry, lambda: None)  # with --shards
    own = [family for family in registry.collect() if family.name.startswith("keda_py_")]
    exposed = {f"{family.name}_total" if family.type == "counter" else family.name for family in own}
    assert set(re.findall(r"^\| `(keda_py_\w+)`", between("metrics", "COMPATIBILITY.md"), re.MULTILINE)) == exposed


def test_the_readme_lists_the_seven_files_in_the_order_in_which_they_name_each_other() -> None:
    listed = re.findall(r"^\d\. \[`([^`]+)`\]", README, re.MULTILINE)
    assert tuple(listed) == SEVEN_FILES


def test_the_seven_files_are_read_in_one_sitting() -> None:
    assert sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in SEVEN_FILES) <= MOST_LINES


@pytest.mark.parametrize(("path", "following"), PAIRS)
def test_each_of_the_seven_files_names_the_next(path: str, following: str) -> None:
    assert following.removeprefix("keda_py/") in docstring(path)


@pytest.mark.parametrize(("before", "path"), PAIRS)
def test_each_of_the_seven_files_names_the_one_before(before: str, path: str) -> None:
    assert before.removeprefix("keda_py/") in docstring(path)


def test_the_picture_is_a_whole_svg() -> None:
    picture = (ROOT / "timeline.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg ")
    assert picture.endswith("</svg>\n")


def environment(name: str) -> list[str]:
    """What is rendered for an environment, but for its Deployment."""
    text = (ROOT / f"examples/nightly-scale-down/{name}.yaml").read_text(encoding="utf-8")
    scaled = text.partition("kind: ScaledObject\n")[2].splitlines()
    return [f"# {name}", "", *(["kind: ScaledObject", *scaled] if scaled else ["# no ScaledObject"])]


def test_the_three_environments_stand_side_by_side_as_they_are_rendered() -> None:
    columns = [environment(name) for name in ("develop", "release", "production")]
    rows = zip_longest(*columns, fillvalue="")
    block = "".join("".join(f"{cell:<48}" for cell in row).rstrip() + "\n" for row in rows)
    page = (ROOT / "examples/nightly-scale-down/README.md").read_text(encoding="utf-8")
    assert f"<!-- environments -->\n```yaml\n{block}```\n<!-- /environments -->\n" in page


def test_make_demo_shows_the_demo_and_not_its_recipe() -> None:
    recipe = re.search(r"^demo:.*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    assert recipe[1] == "@$(BIN)/keda-py demo"


def test_the_kubeconfigs_that_the_pages_make_are_ignored_by_git() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    pages = [ROOT / "README.md", *(ROOT / "examples").glob("*/README.md")]
    made = {name for page in pages for name in re.findall(r"--kubeconfig (\w+)\b", page.read_text(encoding="utf-8"))}
    assert made == {"kubeconfig"}
    assert [name for name in (*made, "demo.kubeconfig") if f"/{name}" not in ignored] == []
