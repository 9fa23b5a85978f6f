"""Writes the table of values into a chart's README: `python .ci/chart_readme.py charts/keda-py charts/scaled-app`.

The comment above a value in values.yaml is its meaning. With `--check` nothing is written, and the exit code is 1 where
a README is out of step.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

HEAD = "## Every value"
_INTRODUCTION = "Generated from [`values.yaml`](values.yaml) by `.ci/chart_readme.py`."


def main(arguments: list[str]) -> int:
    """Write or check the READMEs of the charts in the folders."""
    stale = []
    for folder in (Path(one) for one in arguments if one != "--check"):
        readme = folder / "README.md"
        old = readme.read_text(encoding="utf-8")
        new = with_values(old, (folder / "values.yaml").read_text(encoding="utf-8"))
        if new != old:
            stale.append(str(readme))
            if "--check" not in arguments:
                readme.write_text(new, encoding="utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"out of step with values.yaml: {', '.join(stale)}; run python .ci/chart_readme.py\n")
        return 1
    return 0


def with_values(readme: str, values: str) -> str:
    """Return a README that ends in the table of these values."""
    before = readme.partition(f"{HEAD}\n")[0].rstrip()
    rows = [
        f"| `{name}` | {f'`{default}`' if default else ''} | {meaning} |" for name, default, meaning in table(values)
    ]
    return "\n".join(
        [before, "", HEAD, "", _INTRODUCTION, "", "| value | default | meaning |", "|---|---|---|", *rows, ""]
    )


def table(values: str) -> list[tuple[str, str, str]]:
    """Return name, default as written, and meaning of each value; "" as default of a group."""
    document = yaml.compose(values, Loader=yaml.SafeLoader)
    assert isinstance(document, yaml.MappingNode)
    lines = values.splitlines()
    top = next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)
    return [tuple(map(_cell, row)) for row in _rows(document, "", lines, top)]  # type: ignore[misc]


def _rows(mapping: yaml.MappingNode, path: str, lines: list[str], top: int) -> Iterator[tuple[str, str, str]]:
    for key, value in mapping.value:
        name = f"{path}{key.value}"
        meaning = _comment(lines, key.start_mark.line, top)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            if meaning:
                yield name, "", meaning
            yield from _rows(value, f"{name}.", lines, top)
        else:
            yield name, _written(value), meaning


def _comment(lines: list[str], line: int, top: int) -> str:
    """Return the comment right above a line; the head of the file is not one."""
    first = line
    while first > top and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return " ".join(one.strip().lstrip("#").strip() for one in lines[first:line])


def _written(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        items = ", ".join(map(_written, node.value))  # a block's own text would run on to the next value
        return f"[{items}]"
    text = node.start_mark.buffer[node.start_mark.pointer : node.end_mark.pointer]
    return " ".join(text.split()) or "null"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
