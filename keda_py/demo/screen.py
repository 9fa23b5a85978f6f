"""What a person sees while the demo runs: a live table on a terminal, plain lines elsewhere."""

from collections import deque
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from keda_py.demo.timeline import Change

ROWS = 14
HEADINGS = (("time", "dim"), ("workload", "bold"), ("metric", ""), ("replicas", ""), ("decision and reason", ""))


class Screen(Protocol):
    """Shows changes as they happen."""

    def show(self, change: Change) -> None:
        """One change of replicas."""
        ...

    def tick(self, now: datetime) -> None:
        """Virtual time went on."""
        ...

    def __enter__(self) -> "Screen":
        """Begin to show."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Leave the terminal as it was, with the last state on it."""
        ...


class PlainScreen:
    """A line for each change: for logs and pipes."""

    def __init__(self, console: Console, zone: ZoneInfo) -> None:
        self._console, self._zone = console, zone

    def show(self, change: Change) -> None:
        """`Fri 20 Nov 19:35:00  some-application-develop  1 -> 0  deactivated by keda-py: ...`."""
        when = change.at.astimezone(self._zone)
        line = f"{when:%a %d %b %H:%M:%S}  {change.name:<26} {change.before} -> {change.after}  {change.reason}"
        line += f" ({change.metric})" if change.metric else ""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def tick(self, now: datetime) -> None:
        """Nothing: only changes are lines."""

    def __enter__(self) -> "PlainScreen":
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class LiveScreen:
    """The last changes in a table that follows virtual time."""

    def __init__(self, console: Console, zone: ZoneInfo) -> None:
        self._zone = zone
        self._now: datetime | None = None
        self._last: deque[Change] = deque(maxlen=ROWS)
        self._live = Live(console=console, refresh_per_second=10, get_renderable=self._table)

    def show(self, change: Change) -> None:
        """Add a row."""
        self._last.append(change)

    def tick(self, now: datetime) -> None:
        """Move the clock in the title."""
        self._now = now

    def __enter__(self) -> "LiveScreen":
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def _table(self) -> Table:
        now = f"{self._now.astimezone(self._zone):%a %d %b %H:%M}" if self._now else ""
        table = Table(title=f"virtual time in Seoul: {now}", title_justify="left", expand=True)
        for heading, style in HEADINGS:
            table.add_column(heading, style=style, no_wrap=heading != "decision and reason")
        for change in self._last:
            colour = "green" if change.after > change.before else "yellow"
            table.add_row(
                f"{change.at.astimezone(self._zone):%a %H:%M:%S}",
                change.name,
                escape(change.metric),
                f"[{colour}]{change.before} -> {change.after}[/]",
                escape(change.reason),
            )
        return table
