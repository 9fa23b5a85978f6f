"""Screens of the running demo: a live table on a terminal, plain lines elsewhere."""

from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.live import Live
from rich.text import Text

from keda_py.demo.timeline import Announcement, TimelineChange
from keda_py.terminal.table import Column, draw_table

ABOVE = 4
"""Lines of the terminal that the table leaves free for earlier output and the cursor."""
COLUMNS = (
    Column(heading="time", style="dim"),
    Column(heading="workload", style="bold"),
    Column(heading="metric", goes=1),
    Column(heading="replicas"),
    Column(heading="decision and reason", wraps=True),
)


class Screen(Protocol):
    """Shows changes as they happen."""

    def show(self, change: TimelineChange) -> None:
        """Show a change of replicas."""
        ...

    def tell(self, told: Announcement) -> None:
        """Show a sentence that explains changes of replicas."""
        ...

    def tick(self, now: datetime) -> None:
        """Note that virtual time has advanced."""
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

    def show(self, change: TimelineChange) -> None:
        """`Fri 20 Nov 19:35:00  some-application-develop  1 -> 0  deactivated by keda-py: ...`."""
        when = change.at.astimezone(self._zone)
        line = f"{when:%a %d %b %H:%M:%S}  {change.name:<26} {change.before} -> {change.after}  {change.reason}"
        line += f" ({change.metric})" if change.metric else ""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def tell(self, told: Announcement) -> None:
        """`Mon 22 Dec 19:00:00  shop is awake: Override release ...`."""
        line = f"{told.at.astimezone(self._zone):%a %d %b %H:%M:%S}  {told.name} {told.text}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True, style="bold")

    def tick(self, now: datetime) -> None:
        """Do nothing: only changes become lines."""

    def __enter__(self) -> "PlainScreen":
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class LiveScreen:
    """The last changes that fit on the terminal, newest at the bottom, in a table that follows virtual time.

    In the end the table stands there with all rows, those that had moved out of sight too.
    """

    def __init__(self, console: Console, zone: ZoneInfo) -> None:
        self._console, self._zone = console, zone
        self._now: datetime | None = None
        self._last: list[TimelineChange | Announcement] = []
        self._live = Live(console=console, refresh_per_second=10, get_renderable=self._frame, transient=True)

    def show(self, change: TimelineChange) -> None:
        """Add a row."""
        self._last.append(change)

    def tell(self, told: Announcement) -> None:
        """Add a row without counts."""
        self._last.append(told)

    def tick(self, now: datetime) -> None:
        """Move the clock in the title."""
        self._now = now

    def __enter__(self) -> "LiveScreen":
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()
        self._console.print(self._drawn(None), soft_wrap=True)

    def _frame(self) -> Text:
        return self._drawn(self._console.size.height - ABOVE)

    def _drawn(self, height: int | None) -> Text:
        now = f"{self._now.astimezone(self._zone):%a %d %b %H:%M}" if self._now else ""
        rows = [self._row(one) for one in self._last[-height if height else 0 :]]
        # A column without any text stays hidden until a change has some.
        filled = [at for at in range(len(COLUMNS)) if not rows or any(str(row[at]) for row in rows)]
        kept = [[row[at] for at in filled] for row in rows]
        table = draw_table([COLUMNS[at] for at in filled], kept, self._console.size.width, height)
        return Text("\n", no_wrap=True, overflow="ignore").join(
            [Text(f"virtual time in Seoul: {now}", "italic"), table]
        )

    def _row(self, change: TimelineChange | Announcement) -> list[str | Text]:
        if isinstance(change, Announcement):
            return [f"{change.at.astimezone(self._zone):%a %H:%M:%S}", change.name, "", "", Text(change.text, "bold")]
        count = Text(f"{change.before} -> {change.after}", "green" if change.after > change.before else "yellow")
        return [f"{change.at.astimezone(self._zone):%a %H:%M:%S}", change.name, change.metric, count, change.reason]
