"""FILE arguments of commands -> texts: files, folders, - for standard input."""

import sys
from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path

from keda_py.cli.text import foreign
from keda_py.errors import ConfigError

STDIN = "-"
_CHART = "Chart.yaml"
_RENDER = "render it and give what comes out: helm template {} > rendered.yaml"
_SUFFIXES = (".yaml", ".yml", ".json")


def read_texts(
    files: Iterable[str], *, undecodable: MutableMapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each file, and of every manifest below a folder. Raises ConfigError that names the file.

    With `undecodable`, a file that is not UTF-8 is put there with the reason, and the others follow.
    """
    for name, content in _contents(files):
        try:
            yield name, content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 at byte {error.start}; save it as UTF-8"
            if undecodable is None:
                raise ConfigError(f"{name}: {reason}") from None
            undecodable[name] = reason


def _contents(files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        if file == STDIN:
            yield "stdin", sys.stdin.buffer.read()
            continue
        for path in _expanded(Path(file)):
            try:
                yield str(path), path.read_bytes()
            except OSError as error:
                raise ConfigError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _expanded(path: Path) -> list[Path]:
    """List the manifests below a folder, without charts: their templates and values are not manifests."""
    if not path.is_dir():
        return [path]
    if (path / _CHART).is_file():
        raise ConfigError(f"{path}: is a Helm chart; {_RENDER.format(path)}")
    charts = [chart.parent for chart in sorted(path.rglob(_CHART))]
    for chart in charts:
        sys.stderr.write(f"{foreign(f'{chart}: skipped, is a Helm chart; {_RENDER.format(chart)}')}\n")
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    found = [file for file in files if not any(file.is_relative_to(chart) for chart in charts)]
    if not found:
        raise ConfigError(f"{path}: no {', '.join(_SUFFIXES)} files in this folder; check the path")
    return found
