"""Adds to the site what the project tells elsewhere already: documents of the tree, and reference made from the code.

A hook of MkDocs (mkdocs.yml names it). Links between documents of the tree lead to their pages in the site; a link to a
file that is no page, such as source code, becomes its name.
"""

import io
import os
import posixpath
import re  # noqa: TID251 - constant patterns over our own files
import shutil
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import yaml
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "CHANGELOG.md": "reference/changes.md",
    "CHECKS.md": "reference/checks.md",
    "COMPATIBILITY.md": "reference/compatibility.md",
    "CONTRIBUTING.md": "contributing.md",
    "INSTALLING.md": "how-to/install.md",
    "MIGRATING.md": "how-to/from-keda.md",
    "PERFORMANCE.md": "reference/performance.md",
    "SECURITY.md": "how-to/security.md",
    "charts/keda-py/README.md": "reference/chart.md",
    "charts/scaled-app/README.md": "reference/chart-scaled-app.md",
    "docs/headlamp/README.md": "how-to/headlamp.md",
    "examples/README.md": "how-to/examples.md",
}
"""Document of the tree -> page of the site."""
BY_FOLDER = {"docs/design": "design", "examples": "how-to/examples"}
ALIASES = {"README.md": "index.md", "charts": "reference/chart.md", "examples": "how-to/examples.md"}
ALIASES |= {"scalers": "reference/triggers.md", "scalers/README.md": "reference/triggers.md"}
"""What documents link to, and its page has another name or is no document."""
TRIGGERS = "reference/triggers.md"
_SOURCES = "[The list of types](../triggers.md) says what the letters of a source mean and which keys each trigger has."
PICTURES = (".png", ".svg")
_LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\((?![a-z]+:)([^)\s]*)\)")


def pages() -> dict[str, str]:
    """Document of the tree -> page of the site, those of the folders included."""
    found = dict(DOCUMENTS)
    for folder, place in BY_FOLDER.items():
        for path in sorted((ROOT / folder).rglob("*.md")):
            name = path.relative_to(ROOT).as_posix()
            found.setdefault(name, f"{place}/{path.relative_to(ROOT / folder).as_posix().replace('/README', '')}")
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add the documents, the pictures that they show, and the reference."""
    places = pages()
    for name, place in places.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=linked(text, name, place, places)))
        for picture in _pictures(text, name):
            if picture not in files.src_uris:
                files.append(File.generated(config, picture, abs_src_path=str(ROOT / picture)))
    files.append(File.generated(config, "timeline.svg", abs_src_path=str(ROOT / "timeline.svg")))
    for place, make in {"kinds": kinds, "commands": commands, "metrics": metrics}.items():
        files.append(File.generated(config, f"reference/{place}.md", content=make()))
    for place, text in triggers().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_post_build(config: Any) -> None:
    """Add the playground, where PLAYGROUND names the folder that docs/playground/build.py has made."""
    if made := os.environ.get("PLAYGROUND"):
        shutil.copytree(made, Path(config["site_dir"], "playground"), dirs_exist_ok=True)


def linked(text: str, name: str, place: str, places: Mapping[str, str]) -> str:
    """Return a document's text with links that lead from its page to the others; those out of the site become text."""

    def replace(found: re.Match[str]) -> str:
        shown, label, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path:
            return found.group()
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        page = (
            whole
            if path.endswith(PICTURES)
            else places.get(whole) or places.get(f"{whole}/README.md") or ALIASES.get(whole)
        )
        if page == TRIGGERS and anchor:
            page, anchor = f"reference/triggers/{anchor}.md", ""
        if page is None:
            return label
        away = posixpath.relpath(page, posixpath.dirname(place) or ".")
        return f"{shown}[{label}]({away}{'#' + anchor if anchor and page != 'index.md' else ''})"

    return _LINK.sub(replace, text)


def _pictures(text: str, name: str) -> Iterator[str]:
    for _, _, target in _LINK.findall(text):
        if target.endswith(PICTURES):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(name), target))


def kinds() -> str:
    """Return the fields of every kind, from the definitions that the chart installs."""
    from keda_py.apis.kinds.crds import build_crds

    lines = ["# Kinds", "", "Every field of every kind, from the definitions that `keda-py crds` prints.", ""]
    for crd in build_crds():
        spec = crd["spec"]
        version = spec["versions"][0]
        lines += [
            f"## {spec['names']['kind']}",
            "",
            f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}",
            "",
        ]
        schema = version["schema"]["openAPIV3Schema"]
        lines += [_sentence(schema.get("description", "")), "", "| field | type | meaning |", "|---|---|---|"]
        for part in ("spec", "status"):
            lines += _fields(schema["properties"].get(part, {}), part, set(schema.get("required", ())))
        lines.append("")
    return "\n".join(lines)


def _fields(schema: Mapping[str, Any], path: str, required: set[str]) -> Iterator[str]:
    inner = schema.get("items", schema)
    if path.count(".") > 0:
        must = " (required)" if path.rpartition(".")[2].removesuffix("[]") in required else ""
        allowed = ", ".join(f"`{one}`" for one in schema.get("enum", ()) if one != "")
        meaning = " ".join(part for part in (_sentence(schema.get("description", "")), allowed) if part)
        yield f"| `{path}`{must} | {schema.get('type', 'any')} | {meaning} |"
    if path.count(".") < 4:
        for name, field in inner.get("properties", {}).items():
            brackets = "[]" if field.get("type") == "array" else ""
            yield from _fields(field, f"{path}.{name}{brackets}", set(inner.get("required", ())))


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def triggers() -> dict[str, str]:
    """Return the overview of trigger types and a page for each type, by its place in the site."""
    from keda_py.sdk.reference import render_overview, render_page
    from keda_py.sdk.registry import trigger_types
    from keda_py.sdk.type_pages import page_of

    overview = render_overview("triggers/{}.md").replace("# Scalers", "# Trigger types", 1)
    found = {TRIGGERS: overview}
    for name in trigger_types():
        text = render_page(page_of(name)).replace("## ", "# ", 1)
        found[f"reference/triggers/{name}.md"] = f"{text}\n{_SOURCES}\n"
    return found


def commands() -> str:
    """Return the help of every command."""
    overview = _help()
    lines = [
        "# Commands",
        "",
        "`kubectl keda-py COMMAND` is the same as `keda-py COMMAND`.",
        "",
        "```text",
        overview,
        "```",
        "",
    ]
    for name in re.findall(r"^  ([a-z][a-z-]+) {2,}\S", overview.partition("examples:")[0], re.MULTILINE):
        lines += [f"## keda-py {name}", "", "```text", _help(name), "```", ""]
    return "\n".join(lines)


def _help(*command: str) -> str:
    from keda_py.cli import main

    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):  # argparse leaves
        main([*command, "--help"])
    return shown.getvalue().rstrip()


def metrics() -> str:
    """Return every series of the metrics page."""
    from keda_py.telemetry.prometheus import OperatorMetrics

    lines = ["# Metrics", "", "Port 8080 of every replica, at `/metrics`: KEDA's names, and ours with `keda_py_`.", ""]
    lines += ["| series | kind | meaning |", "|---|---|---|"]
    for family in sorted(OperatorMetrics().registry.collect(), key=lambda one: one.name):
        suffix = "_total" if family.type == "counter" else ""
        lines.append(f"| `{family.name}{suffix}` | {family.type} | {_sentence(family.documentation)} |")
    return "\n".join([*lines, ""])


def on_config(config: Any) -> Any:
    """Give the navigation the pages of the folders."""
    design = [place for name, place in pages().items() if name.startswith("docs/design/")]
    examples = [
        place for name, place in pages().items() if name.startswith("examples/") and name != "examples/README.md"
    ]
    text = yaml.safe_dump(config["nav"])
    config["nav"] = yaml.safe_load(text)
    types = sorted(place for place in triggers() if place != TRIGGERS)
    for entry in config["nav"]:
        for section in entry.get("Reference", ()):
            if section.get("Trigger types"):
                section["Trigger types"] = [TRIGGERS, *({Path(place).stem: place} for place in types)]
        if "Design" in entry:
            entry["Design"] = sorted(
                design, key=lambda one: (not one.endswith("design.md") and "README" not in one, one)
            )
        if "How to" in entry:
            entry["How to"] += [{"Example pages": sorted(examples)}]
    return config
