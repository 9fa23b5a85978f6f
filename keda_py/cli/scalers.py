"""`keda-py scalers [TYPE...]`: trigger types and their keys, from the registry, third parties' included."""

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from keda_py.cli.parsers import command_parser
from keda_py.errors import ConfigError
from keda_py.sdk.metadata import Key
from keda_py.sdk.registry import scaler_class, trigger_types

DESCRIPTION = (
    "List trigger types and their metadata keys; * marks a required key. With TYPE: everything about its keys."
)
EXAMPLES = (
    ("keda-py scalers", "all types"),
    ("keda-py scalers redis aws-sqs-queue", "the keys of two types: type, default, where they may come from"),
)
_WHERE = {"metadata": "metadata", "env": "<key>FromEnv", "auth": "TriggerAuthentication"}
_PIPED_WIDTH = 160


def run(arguments: list[str]) -> int:
    """Print one table, or one for each type asked for."""
    parser = command_parser("scalers", DESCRIPTION, EXAMPLES, usage="keda-py scalers [TYPE ...]")
    parser.add_argument("types", metavar="TYPE", nargs="*", help="a trigger type")
    wanted: Sequence[str] = parser.parse_args(arguments).types
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    for table in map(_details, wanted) if wanted else [_overview()]:
        console.print(table)
    return 0


def _overview() -> Table:
    table = _table("Trigger type", "What it scales on", "Keys")
    for name in trigger_types():
        try:
            keys = ", ".join(f"{key.name}*" if key.required else key.name for key in _keys(name))
            table.add_row(f"[bold]{escape(name)}[/]", escape(_summary(name)), escape(keys))
        except ConfigError as error:  # one plug-in that cannot be imported does not hide the others
            table.add_row(f"[bold]{escape(name)}[/]", f"[red]{escape(str(error))}[/]", "")
    return table


def _details(name: str) -> Table:
    table = _table("Key", "Type", "Default", "From", title=f"{name}: {_summary(name)}")
    for key in _keys(name):
        default = "required" if key.required else _shown(key.default)
        where = ", ".join(_WHERE[source] for source in key.order)
        table.add_row(f"[bold]{escape(', '.join(key.names))}[/]", escape(key.type), escape(default), escape(where))
    return table


def _table(*columns: str, title: str = "") -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=escape(title) or None, title_justify="left", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _keys(name: str) -> list[Key]:
    return [key for key in scaler_class(name).metadata_model.declared_keys() if not key.removed]


def _summary(name: str) -> str:
    """The first line of the module's docstring."""
    return (sys.modules[scaler_class(name).__module__].__doc__ or "").strip().partition("\n")[0]


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
