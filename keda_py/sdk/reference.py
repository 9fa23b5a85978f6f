"""Every registered trigger type with its keys, from the scalers' own declarations: `scalers/README.md`.

`python -m keda_py.sdk.reference > scalers/README.md` writes it; a test tells when it is out of step. The command
line's `keda-py scalers` shows the same keys.
"""

import sys
from collections.abc import Iterator
from datetime import timedelta

from keda_py.sdk.metadata import Key
from keda_py.sdk.registry import scaler_class, trigger_types

_LETTER = {"metadata": "m", "env": "e", "auth": "a"}

_HEAD = """\
# Scalers

Generated from the declarations in this folder by `python -m keda_py.sdk.reference > scalers/README.md`.

One file per trigger type; `shared/` holds what several types share. A scaler imports only `keda_py.sdk.scaler`, the
pure core and its client library, and registers with one line under `[project.entry-points."keda_py.scalers"]`; a third
party's registers in the same way. To begin, read `redis.py`, then the docstring of `keda_py/sdk/scaler.py`.

**Sources**, the first non-empty one counts: `m` the trigger's metadata; `e` metadata `<key>FromEnv`, which names a
variable of the scale target's container; `a` a parameter of the TriggerAuthentication. Numbers are strict (`5`, not
`5.0`, for an int), a duration is Go's (`1m30s`; a bare integer counts milliseconds), a list has commas, a map is
`name=value,name=value`.
"""


def render_reference() -> str:
    """The whole document, of every type that is installed here from this distribution or another."""
    contents = [f"| [`{name}`](#{name}) | {_summary(name)} |" for name in trigger_types()]
    table = "\n".join(["| type | what it does |", "|---|---|", *contents, ""])
    return "\n".join([_HEAD, table, *(_section(name) for name in trigger_types())])


def _section(trigger_type: str) -> str:
    lines = [f"## `{trigger_type}`", "", _summary(trigger_type), "", "| key | sources | type | default |"]
    rows = _rows(scaler_class(trigger_type).metadata_model.declared_keys())
    return "\n".join([*lines, "|---|---|---|---|", *rows, ""])


def _summary(trigger_type: str) -> str:
    """The first sentence of the scaler's file."""
    module = sys.modules[scaler_class(trigger_type).__module__]
    return (module.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")


def _rows(keys: tuple[Key, ...]) -> Iterator[str]:
    for key in keys:
        names = " / ".join(f"`{name}`" for name in key.names)
        order = " > ".join(_LETTER[source] for source in key.order)
        kind = key.type.replace("|", "\\|")
        yield f"| {names} | {order} | {kind} | {_default(key)} |"


def _default(key: Key) -> str:
    if key.removed:
        return "removed: setting it is an error"
    if key.required:
        return "**required**"
    match key.default:
        case bool():
            return f"`{str(key.default).lower()}`"
        case timedelta():
            return f"`{key.default.total_seconds():g}s`"
        case int() | float():
            return f"`{key.default:g}`"
        case str() if key.default:
            return f"`{key.default}`"
        case _:
            return ""


if __name__ == "__main__":
    sys.stdout.write(render_reference())
