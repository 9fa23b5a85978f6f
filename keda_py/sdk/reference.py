"""Every registered trigger type with its keys, from the pages of `type_pages.py`: `scalers/README.md`.

`python -m keda_py.sdk.reference > scalers/README.md` writes it; a test tells when it is out of step. The command
line's `keda-py scalers` shows the same.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import yaml

from keda_py.sdk.metadata.keys import Key
from keda_py.sdk.registry import trigger_types
from keda_py.sdk.type_pages import TypePage, names_of, page_of

_BAR = "\\|"
_LETTER = {"metadata": "m", "env": "e", "auth": "a"}

_HEAD = """\
# Scalers

Generated from the docstrings and keys of the files in this folder, and from `reference.toml` for what they cannot say,
by `python -m keda_py.sdk.reference > scalers/README.md`.

One file per trigger type; `shared/` holds what several types share. A scaler imports only `keda_py.sdk.scaler`,
`keda_py.sdk.advanced`, the pure core and its client library, and registers with one line under
`[project.entry-points."keda_py.scalers"]`; a third party's registers in the same way. To begin, read `graphite.py`,
then `redis.py` and the docstrings of `keda_py/sdk/contract.py`.

**Sources**, the first non-empty one counts: `m` the trigger's metadata; `e` metadata `<key>FromEnv`, which names a
variable of the scale target's container; `a` a parameter of the TriggerAuthentication. Numbers are strict (`5`, not
`5.0`, for an int), a duration is Go's (`1m30s`; a bare integer counts milliseconds), a list has commas, a map is
`name=value,name=value`. The name of a metric gets the prefix `s<index of the trigger>-`. Every trigger may also have
`metricType`, `name`, `useCachedMetrics` and `authenticationRef`, beside its metadata.

**batch**: triggers of one server and credential are read together; **push**: the source tells of work, and the object
is looked at before the next poll; **at zero**: the source is asked every 400 ms (`--zero-polling-interval`; 0: off)
about all objects together whose workload is at zero. **extra**: the type needs a library that
`pip install 'keda-py[EXTRA]'` brings; `keda-py[all]` brings all, and the image has them.
"""

_TABLE = ("| type | what it does | tested against | batch | push | extra |", "|---|---|---|---|---|---|")


def render_reference() -> str:
    """Return the whole document, of every type that is installed here from this distribution or another."""
    pages = [page_of(name) for name in trigger_types()]
    return "\n".join([render_overview("#{}"), *(render_page(page) for page in pages)])


def render_overview(place: str) -> str:
    """Return what comes before the types; `place` is where a page of the table is, with {} for the type."""
    return "\n".join([_HEAD, *_TABLE, *(_row(page_of(name), place) for name in trigger_types()), ""])


def _row(page: TypePage, place: str) -> str:
    batch = "yes" if page.batches else ""
    push = "yes" if page.pushes else "at zero" if page.at_zero else ""
    extra = f"`{page.extra}`" if page.extra else ""
    link = f"[`{page.type}`]({place.format(page.type)})"
    return f"| {link} | {page.summary} | {page.tested} | {batch} | {push} | {extra} |"


def render_page(page: TypePage) -> str:
    """One type as a section."""
    lines = [f"## `{page.type}`", "", page.summary, ""]
    facts = {"Metric": page.metric, "Permissions": page.permissions, "Tested against": page.tested, "Extra": page.extra}
    lines += [f"- **{name}**: {text}" for name, text in facts.items() if text]
    lines += [""] if any(facts.values()) else []
    lines += _table("key", page.settings)
    lines += _table("parameter of a TriggerAuthentication", page.parameters)
    return "\n".join([*lines, *_example(page)])


def example_trigger(page: TypePage) -> str:
    """An entry of `spec.triggers` as YAML; "" where no example is known."""
    if not page.example and not page.auth:
        return ""
    trigger: dict[str, object] = {"type": page.type}
    if page.metric_type:
        trigger["metricType"] = page.metric_type
    trigger["metadata"] = dict(page.example)
    if page.auth:
        trigger["authenticationRef"] = {"name": page.type}
    text = yaml.safe_dump([trigger], sort_keys=False, width=200)
    return f"{text.rstrip()}  # gives {', '.join(page.auth)}\n" if page.auth else text


def _example(page: TypePage) -> list[str]:
    text = example_trigger(page)
    return ["```yaml", text.rstrip(), "```", ""] if text else []


def _table(title: str, keys: Sequence[tuple[Key, str]]) -> list[str]:
    if not keys:
        return []
    return [f"| {title} | sources | type | default | meaning |", "|---|---|---|---|---|", *_rows(keys), ""]


def _rows(keys: Iterable[tuple[Key, str]]) -> Iterator[str]:
    for key, meaning in keys:
        names = " / ".join(f"`{name}`" for name in names_of(key))
        order = " > ".join(_LETTER[source] for source in key.order)
        cells = (names, order, key.type, _default(key), meaning)
        yield f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |"


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
