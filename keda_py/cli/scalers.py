"""`keda-py scalers [TYPE...]`: trigger types and their keys, from the registry, third parties' included."""

import sys
from collections.abc import Iterator, Sequence

import orjson
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from keda_py.cli.parsers import command_parser
from keda_py.errors import ConfigError
from keda_py.sdk.json_schema import manifest_schema
from keda_py.sdk.metadata import AUTH, ENV, META, Key
from keda_py.sdk.reference import example_trigger
from keda_py.sdk.registry import trigger_types
from keda_py.sdk.type_pages import TypePage, names_of, page_of

DESCRIPTION = (
    "List trigger types and their metadata keys; * marks a required key. With TYPE: everything about its keys."
)
EXAMPLES = (
    ("keda-py scalers", "all types"),
    ("keda-py scalers redis aws-sqs-queue", "two types: their keys, metric, permissions and an example"),
    ("keda-py scalers schema ScaledObject > scaledobject.json", "JSON Schema for an editor or CI; also of ScaledJob"),
)
_WHERE = {META: "metadata", AUTH: "TriggerAuthentication"}
_PIPED_WIDTH = 160
SCHEMA = "schema"
"""No trigger type has that name."""


def run(arguments: list[str]) -> int:
    """Print one table, or a page for each type asked for."""
    parser = command_parser("scalers", DESCRIPTION, EXAMPLES, usage="keda-py scalers [TYPE ... | schema [KIND]]")
    parser.add_argument("types", metavar="TYPE", nargs="*", help="a trigger type")
    wanted: Sequence[str] = parser.parse_args(arguments).types
    if wanted[:1] == [SCHEMA]:
        return _print_schema(*(wanted[1:2] or ("ScaledObject",)))
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    for part in (part for name in wanted for part in _details(page_of(name))) if wanted else (_overview(),):
        console.print(part)
    return 0


def _print_schema(kind: str) -> int:
    sys.stdout.buffer.write(orjson.dumps(manifest_schema(kind), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return 0


def _overview() -> Table:
    table = _table("Trigger type", "What it scales on", "Keys")
    for name in trigger_types():
        try:
            page = page_of(name)
        except ConfigError as error:  # one plug-in that cannot be imported does not hide the others
            table.add_row(f"[bold]{escape(name)}[/]", f"[red]{escape(str(error))}[/]", "")
            continue
        keys = [key for key, _ in page.keys if not key.removed]
        names = ", ".join(f"{key.name}*" if key.required else key.name for key in keys)
        table.add_row(f"[bold]{escape(name)}[/]", escape(page.summary), escape(names))
    return table


def _details(page: TypePage) -> Iterator[Table | Text]:
    yield _keys(page)
    facts = {"Metric": page.metric, "Permissions": page.permissions, "Tested against": page.tested, "Extra": page.extra}
    if told := "\n".join(f"{name}: {text}" for name, text in facts.items() if text):
        yield Text(told)
    if example := example_trigger(page):
        yield Text(f"\n{example}")


def _keys(page: TypePage) -> Table:
    table = _table("Key", "Type", "Default", "From", "Meaning", title=f"{page.type}: {page.summary}")
    for key, meaning in page.keys:
        if key.removed:
            continue
        default = "required" if key.required else _shown(key.default)
        cells = (key.type, default, ", ".join(_places(key)), meaning)
        table.add_row(f"[bold]{escape(', '.join(names_of(key)))}[/]", *map(escape, cells))
    return table


def _places(key: Key) -> Iterator[str]:
    for source in key.order:
        yield from key.variables if source == ENV else (_WHERE[source],)


def _table(*columns: str, title: str = "") -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=escape(title) or None, title_justify="left", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _shown(default: object) -> str:
    match default:
        case None | "" | () | []:
            return ""
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)
