"""The lock: it agrees with pyproject.toml, is complete, and names no place where distributions come from."""

import re  # noqa: TID251 - constant patterns over our own files
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.locks import LAYERS, LOCKS, RULES, pins, pins_of_file


@pytest.mark.parametrize("layer", LAYERS)
def test_each_requirement_of_the_project_is_pinned_to_a_version_that_it_allows(layer: str) -> None:
    pinned = pins(layer)
    for text in LAYERS[layer].requirements:
        wanted = Requirement(text)
        found = [pin for pin in pinned if pin.name == canonicalize_name(wanted.name)]
        assert found, f"{text} is not in .ci/locks/{layer}.lock; `make lock` writes it anew"
        wrong = [str(pin.version) for pin in found if not wanted.specifier.contains(pin.version, prereleases=True)]
        assert wrong == [], f".ci/locks/{layer}.lock does not satisfy {text}; `make lock` writes it anew"


@pytest.mark.parametrize("layer", ["all", "test", "build"])
def test_what_a_pinned_distribution_needs_is_pinned_too(layer: str) -> None:
    here = {pin.name for pin in pins(layer) if pin.holds_here}
    for name in here:
        try:
            needed = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue
        missing = {one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})}
        assert {canonicalize_name(one) for one in missing} <= here, name


def test_every_pin_has_hashes_and_each_distribution_has_one_version_in_all_files() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for layer in LAYERS:
        for pin in pins_of_file(layer):
            assert pin.hashes, pin.name
            found.setdefault((pin.name, pin.marker), set()).add(str(pin.version))
    assert len(found) > 150
    assert {key: versions for key, versions in found.items() if len(versions) > 1} == {}


def test_the_files_are_those_of_the_layers_and_name_no_place() -> None:
    assert {path.stem for path in LOCKS.iterdir()} == set(LAYERS)
    for path in LOCKS.iterdir():
        lines = path.read_text().splitlines()
        odd = [
            line
            for line in lines
            if not re.fullmatch(r"-r \w+\.lock|[\w.-]+==.*|    --hash=sha256:[0-9a-f]{64}.*", line)
        ]
        assert odd == [], path.name
        assert not re.search(r"://|\.(?:org|com|io)\b|/", path.read_text()), path.name


def test_the_operator_goes_without_what_people_at_a_terminal_need() -> None:
    left_out = set(RULES["COMMAND_LINE"]) | {"pygments", "pip", "uv", "hatchling", "setuptools"}
    assert left_out & {pin.name for pin in pins("operator")} == set()
    assert set(RULES["COMMAND_LINE"]) <= {pin.name for pin in pins("all")}
