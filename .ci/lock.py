"""Writes .ci/locks, which name each distribution that is installed here with its version and hashes: `make lock`.

One resolution of everything, for Python 3.11 and later on any platform, is cut into layers: a file names the layers
below it and adds what they lack. pip and uv both install a layer by `-r`. Versions stay as they are while
pyproject.toml allows them; with --upgrade (`make lock UPGRADE=1`) each is the newest. It needs uv and an index.
"""

import argparse
import re  # noqa: TID251 - constant patterns over our own files
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / ".ci" / "locks"
OLDEST_PYTHON = "3.11"
COMMAND_LINE = ("argcomplete", "rich", "tzlocal")
"""Packages that only people at a terminal need; the image does without."""
_PIN = re.compile(r"^(?=[\w.-]+==)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Layer of the lock; `below` are the layers that are installed with it."""

    requirements: Sequence[str]
    below: Sequence[str] = ()


def layers() -> dict[str, Layer]:
    """Return the layers by name, the lowest first."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = tables["project"]
    every = [*project["dependencies"], *_extra(project, "all")]
    operator = [one for one in every if canonicalize_name(Requirement(one).name) not in COMMAND_LINE]
    return {
        "installer": Layer(requirements=["uv"]),
        # hatchling wants editables for `pip install -e`, and says so only to an installer that may fetch it.
        "build": Layer(requirements=[*tables["build-system"]["requires"], "editables"]),
        "operator": Layer(requirements=operator),
        "all": Layer(requirements=every, below=("operator",)),
        "test": Layer(requirements=_extra(project, "test"), below=("build", "all")),
        "dev": Layer(requirements=_extra(project, "dev"), below=("test",)),
        "docs": Layer(requirements=_extra(project, "docs"), below=("all",)),
        "charts": Layer(requirements=_extra(project, "charts")),
        "servers": Layer(requirements=_extra(project, "servers")),
    }


def _extra(project: dict[str, Any], name: str) -> list[str]:
    """List the requirements of an extra; those on extras of this very project become what these ask for."""
    found: list[str] = []
    for text in project["optional-dependencies"][name]:
        requirement = Requirement(text)
        if requirement.name == project["name"]:
            found += [one for extra in sorted(requirement.extras) for one in _extra(project, extra)]
        else:
            found.append(text)
    return found


def main() -> int:
    """Write the files anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    upgrade = parser.parse_args().upgrade
    LOCKS.mkdir(exist_ok=True)
    kept = "" if upgrade else "".join(path.read_text(encoding="utf-8") for path in sorted(LOCKS.glob("*.lock")))
    try:
        texts = locks(layers(), kept)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"lock: {error.stderr}")
        return 1
    for path in LOCKS.glob("*.lock"):
        path.unlink()
    for name, text in texts.items():
        (LOCKS / f"{name}.lock").write_text(text, encoding="utf-8")
    return 0


def locks(wanted: dict[str, Layer], kept: str) -> dict[str, str]:
    """Compile the text of each layer's file, with the versions that `kept` pins where that is possible."""
    everything = _compile([one for layer in wanted.values() for one in layer.requirements], kept)
    texts: dict[str, str] = {}
    for name, layer in wanted.items():
        *below, _ = closure = with_below(wanted, name)
        found = _compile([one for each in closure for one in wanted[each].requirements], everything)
        known = {head for each in below for head, _ in _blocks(texts[each])}
        references = [f"-r {each}.lock\n" for each in layer.below]
        texts[name] = "".join([*references, *(text for head, text in _blocks(found) if head not in known)])
    return texts


def with_below(wanted: dict[str, Layer], name: str) -> list[str]:
    """List the layers that are installed with that one, itself the last."""
    below = [one for each in wanted[name].below for one in with_below(wanted, each)]
    return [*dict.fromkeys(below), name]


def _compile(requirements: Sequence[str], pins: str) -> str:
    """Resolve the requirements; uv prefers the pins of the file that it writes to. Indexes are not named in it."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out.lock")
        out.write_text("".join(text for _, text in _blocks(pins)), encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--output-file", str(out), "--generate-hashes"]
        command += ["--universal", "--python-version", OLDEST_PYTHON, "--no-header", "--no-annotate", "--quiet"]
        subprocess.run(
            command, input="\n".join(requirements), stderr=subprocess.PIPE, text=True, check=True, cwd=scratch
        )
        return out.read_text(encoding="utf-8")


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each pin with its marker, and its lines with the hashes."""
    pins = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("-r "))
    for block in _PIN.split(pins)[1:]:
        yield block.partition("\n")[0].removesuffix(" \\"), block


if __name__ == "__main__":
    sys.exit(main())
