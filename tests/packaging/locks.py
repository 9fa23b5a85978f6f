"""The lock files as tests read them, and a Python that can import what one of them installs, and nothing else."""

import re  # noqa: TID251 - constant patterns over our own files
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.places import ROOT

LOCKS = ROOT / ".ci" / "locks"
RULES: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "lock.py"))
LAYERS: dict[str, Any] = RULES["layers"]()
_PIN = re.compile(r"^([\w.-]+)==([^ ;]+)(?: ; (.*?))?(?: \\)?$")
_ONLY = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from keda_py.cli import main
sys.exit(main({arguments!r}))
"""


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One version of a distribution, where the marker holds."""

    name: str
    version: Version
    marker: str
    hashes: int

    @property
    def holds_here(self) -> bool:
        return not self.marker or Marker(self.marker).evaluate()


def pins_of_file(name: str) -> Iterator[Pin]:
    """What the file itself has, without the layers below."""
    for block in re.split(r"\n(?! )", (LOCKS / f"{name}.lock").read_text().strip()):
        if found := _PIN.match(block.partition("\n")[0]):
            hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", block))
            yield Pin(name=canonicalize_name(found[1]), version=Version(found[2]), marker=found[3] or "", hashes=hashes)


def pins(name: str) -> list[Pin]:
    """All that is installed with that layer."""
    return [pin for each in RULES["with_below"](LAYERS, name) for pin in pins_of_file(each)]


def command_with(layer: str, *arguments: str) -> list[str]:
    """`keda-py` where the distributions of that layer are installed alone."""
    allowed = {pin.name for pin in pins(layer)} | {"keda-py"}
    missing = {
        module
        for module, names in packages_distributions().items()
        if not any(canonicalize_name(name) in allowed for name in names)
    }
    return [sys.executable, "-c", _ONLY.format(missing=missing, arguments=list(arguments))]


def run_with(layer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What it prints, and its exit code."""
    command = command_with(layer, *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
