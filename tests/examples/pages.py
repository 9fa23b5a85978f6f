"""An example's folder as its reader finds it: manifests to apply, and a README with terminal sessions in it."""

import re  # noqa: TID251 - constant patterns over our own READMEs
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

EXAMPLES = ROOT / "examples"
ENVIRONMENTS = ("develop", "release", "production")
"""Of nightly-scale-down."""
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """What is typed after `$ `, and what is answered."""

    line: str
    answer: str


def readme(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def sessions(page: str) -> list[list[Command]]:
    """Each block of terminal text, as its commands."""
    return [_commands(block) for block in _SESSION.findall(page)]


def _commands(block: str) -> list[Command]:
    typed = [part.partition("\n") for part in f"\n{block}".split("\n$ ")[1:]]
    return [Command(line, answer.rstrip("\n")) for line, _, answer in typed]
