"""`keda-py scalers [TYPE...]`: trigger types and their keys, from the registry, third parties' included."""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from keda_py.cli.parsers import COMPLETION, command_parser, completed_by
from keda_py.errors import ConfigError
from keda_py.sdk.metadata.keys import Key
from keda_py.sdk.metadata.marks import AUTH, ENV, META
from keda_py.sdk.reference import example_trigger
from keda_py.sdk.registry import trigger_types
from keda_py.sdk.type_pages import TypePage, names_of, page_of
from keda_py.terminal.console import console_of, tell
from keda_py.terminal.foreign import write_json
from keda_py.terminal.table import Column, draw_table

DESCRIPTION = (
    "List trigger types and their metadata keys; * marks a required key. With TYPE: everything about its keys."
)
EXAMPLES = (
    ("keda-py scalers", "all types"),
    ("keda-py scalers redis aws-sqs-queue", "two types: their keys, metric, permissions and an example"),
    (
        "keda-py scalers schema ScaledObject > scaledobject.json",
        "JSON Schema for an editor or CI, of any kind",
    ),
)
_WHERE = {META: "metadata", AUTH: "TriggerAuthentication"}
TYPES = (
    Column(heading="Trigger type", style="bold"),
    Column(heading="What it scales on", wraps=True),
    Column(heading="Keys", wraps=True, goes=1),
)
KEYS = (
    Column(heading="Key", style="bold"),
    Column(heading="Type", goes=1),
    Column(heading="Default", goes=3),
    Column(heading="From", goes=2),
    Column(heading="Meaning", wraps=True),
)
SCHEMA = "schema"
"""Word in the place of a type; no trigger type has that name."""


def run(arguments: list[str]) -> int:
    """Print one table, or a page for each type asked for."""
    parser = command_parser("scalers", DESCRIPTION, EXAMPLES, usage="keda-py scalers [TYPE ... | schema [KIND]]")
    completed_by(parser.add_argument("types", metavar="TYPE", nargs="*", help="a trigger type"), COMPLETION, "types")
    wanted: Sequence[str] = parser.parse_args(arguments).types
    if wanted[:1] == [SCHEMA]:
        return _print_schema(*(wanted[1:2] or ("ScaledObject",)))
    console = console_of(sys.stdout)
    if not wanted:
        console.print(_overview(console.width), soft_wrap=True)
    for name in wanted:
        _print_page(console, page_of(name))
    return 0


def _print_schema(kind: str) -> int:
    from keda_py.sdk.json_schema import manifest_schema  # heavy: not for the pages

    write_json(manifest_schema(kind))
    return 0


def _overview(width: int) -> Text:
    rows: list[tuple[str | Text, ...]] = []
    for name in trigger_types():
        try:
            page = page_of(name)
        except ConfigError as error:  # one plug-in that cannot be imported does not hide the others
            rows.append((name, "", Text(str(error), "red")))
            continue
        keys = [key for key, _ in page.keys if not key.removed]
        rows.append((name, page.summary, ", ".join(f"{key.name}*" if key.required else key.name for key in keys)))
    return draw_table(TYPES, rows, width)


def _print_page(console: Console, page: TypePage) -> None:
    tell(console, f"{page.type}: {page.summary}", style="italic")
    rows = [_cells(key, meaning) for key, meaning in page.keys if not key.removed]
    console.print(draw_table(KEYS, rows, console.width), soft_wrap=True)
    facts = {"Metric": page.metric, "Permissions": page.permissions, "Tested against": page.tested, "Extra": page.extra}
    for name, text in facts.items():
        if text:
            tell(console, f"{name}: {text}")
    if example := example_trigger(page):
        console.print(Text(f"\n{example}"), soft_wrap=True)


def _cells(key: Key, meaning: str) -> tuple[str, ...]:
    default = "required" if key.required else _default_text(key.default)
    return ", ".join(names_of(key)), key.type, default, ", ".join(_places(key)), meaning


def _places(key: Key) -> Iterator[str]:
    for source in key.order:
        yield from key.variables if source == ENV else (_WHERE[source],)


def _default_text(default: object) -> str:
    match default:
        case None | "" | () | []:
            return ""
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)
