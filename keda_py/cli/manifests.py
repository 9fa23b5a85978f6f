"""FILE arguments of commands -> texts: files, folders, - for standard input."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from keda_py.errors import ConfigError

STDIN = "-"
_CHART = "Chart.yaml"
_RENDER = "render it and give what comes out: helm template {} > rendered.yaml"
_SUFFIXES = (".yaml", ".yml", ".json")


def read_texts(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(name, text) of each; of a folder, of every manifest below it. Raises ConfigError that names the file."""
    for file in files:
        if file == STDIN:
            yield "stdin", _decoded(sys.stdin.buffer.read(), "stdin")
            continue
        for path in _expanded(Path(file)):
            try:
                yield str(path), _decoded(path.read_bytes(), str(path))
            except OSError as error:
                raise ConfigError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _expanded(path: Path) -> list[Path]:
    """A folder's manifests to its depths; a chart in it holds templates and values, which are none."""
    if not path.is_dir():
        return [path]
    if (path / _CHART).is_file():
        raise ConfigError(f"{path}: is a Helm chart; {_RENDER.format(path)}")
    charts = [chart.parent for chart in sorted(path.rglob(_CHART))]
    for chart in charts:
        sys.stderr.write(f"{chart}: skipped, is a Helm chart; {_RENDER.format(chart)}\n")
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    found = [file for file in files if not any(file.is_relative_to(chart) for chart in charts)]
    if not found:
        raise ConfigError(f"{path}: no {', '.join(_SUFFIXES)} files in this folder; check the path")
    return found


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
