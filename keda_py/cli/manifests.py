"""FILE arguments of commands -> texts: files, folders, - for standard input; and `--default-values` beside them."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from keda_py.cli.text import foreign
from keda_py.errors import ConfigError

STDIN = "-"
_CHART = "Chart.yaml"
_RENDER = "render it and give what comes out: helm template {} > rendered.yaml"
_SUFFIXES = (".yaml", ".yml", ".json")
DEFAULT_VALUES = "--default-values"
_LARGEST_VALUES_BYTES = 1 << 20


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


def add_default_values(parser: argparse.ArgumentParser) -> None:
    """Add the flag to a command."""
    told = (
        "defaults and bounds of the installation, as the operator has them: the spec of a KedaDefaults as JSON, or the "
        "values file of the chart with kedaDefaults.values"
    )
    parser.add_argument(DEFAULT_VALUES, default="", metavar="JSON|FILE", help=told)


def read_default_values(text: str) -> dict[str, Any] | None:
    """Read the flag's text into the spec of a KedaDefaults; None without the flag. Raises ConfigError."""
    import orjson

    from keda_py.core.defaults.building import build_layer  # heavy: not for --help
    from keda_py.core.defaults.layers import INSTALLATION
    from keda_py.settings.environments import parse_defaults

    if not text:
        return None
    is_json = text.lstrip().startswith("{")
    written = text if is_json else orjson.dumps(_values_in(text)).decode()
    try:
        build_layer(parse_defaults(written), INSTALLATION, at=DEFAULT_VALUES if is_json else "kedaDefaults.values")
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{DEFAULT_VALUES}: {text[:200]}: {error}", field=DEFAULT_VALUES) from None
    values: dict[str, Any] = orjson.loads(written)
    return values


def _values_in(file: str) -> object:
    """Return `kedaDefaults.values` of a values file. Raises ConfigError."""
    import yaml

    try:
        content = Path(file).read_bytes()
        if len(content) > _LARGEST_VALUES_BYTES:
            raise ConfigError(
                f"{DEFAULT_VALUES}: {file} has more than {_LARGEST_VALUES_BYTES} bytes; give the chart's values file"
            )
        body = yaml.safe_load(content)
    except OSError as error:
        raise ConfigError(
            f"{DEFAULT_VALUES}: {file} cannot be read: {error.strerror}; give JSON or a values file"
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        place = str(error).splitlines()[-1].strip() if str(error) else type(error).__name__
        raise ConfigError(f"{DEFAULT_VALUES}: {file} is not YAML: {place}") from None
    defaults = body.get("kedaDefaults") if isinstance(body, Mapping) else None
    values = defaults.get("values") if isinstance(defaults, Mapping) else None
    if values is None:
        raise ConfigError(
            f"{DEFAULT_VALUES}: {file} holds no kedaDefaults.values; give the chart's values file, or JSON"
        )
    return values
