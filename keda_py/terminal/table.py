"""Tables that fit: a column that may go goes before a name is broken; prose wraps between words and nowhere else.

Where nothing more can go, lines are longer than the terminal, which breaks them by itself: what is copied is whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keda_py.terminal.console import Text
from keda_py.terminal.foreign import printable
from keda_py.terminal.wrapping import cells_of, wrap

LEAST = 24
"""Cells that a column of prose has at least, before other columns go."""
GAP = "  "

Row = Sequence[str | Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`wraps`: prose, broken between words. `goes`: which columns go first where room is short; 0 stays."""

    heading: str
    wraps: bool = False
    goes: int = 0
    style: str = ""


def draw_table(columns: Sequence[Column], rows: Sequence[Row], width: int, height: int | None = None) -> Text:
    """Headings and rows, the last row at the bottom; above `height` lines the first rows are left out."""
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = _widths(columns, rows, width)
    head = _block([Text(columns[index].heading, "bold") for index in widths], [*widths.values()])
    rule = Text("─" * min(sum(widths.values()) + len(GAP) * (len(widths) - 1), width), "dim")
    left = None if height is None else height - len(head) - 1
    body: list[list[Text]] = []
    for row in reversed(rows):
        block = _block([_styled(row[index], columns[index].style) for index in widths], [*widths.values()])
        if left is not None and (left := left - len(block)) < 0:
            break
        body.insert(0, block)
    lines = [*head, rule, *(line for block in body for line in block)]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(lines)


def _widths(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Mapping[int, int]:
    """Cells of each column that stays, by its index."""
    natural = [max(map(_natural, (column.heading, *(row[i] for row in rows)))) for i, column in enumerate(columns)]
    least = [_least(column, natural[i], [row[i] for row in rows]) for i, column in enumerate(columns)]
    kept = list(range(len(columns)))
    while sum(least[i] for i in kept) + len(GAP) * (len(kept) - 1) > width:
        going = (
            min((columns[i].goes, i) for i in kept if columns[i].goes) if any(columns[i].goes for i in kept) else None
        )
        if going is None:
            break
        kept.remove(going[1])
    spare = max(width - sum(least[i] for i in kept) - len(GAP) * (len(kept) - 1), 0)
    return _shared({i: least[i] for i in kept}, natural, spare)


def _shared(least: dict[int, int], natural: Sequence[int], spare: int) -> Mapping[int, int]:
    """What is to spare goes to the columns that wrap, to those first that need the least of it."""
    wanting = sorted((i for i in least if natural[i] > least[i]), key=lambda i: natural[i] - least[i])
    for number, index in enumerate(wanting):
        more = min(natural[index] - least[index], spare // (len(wanting) - number))
        least[index] += more
        spare -= more
    return least


def _least(column: Column, natural: int, cells: Iterable[str | Text]) -> int:
    if not column.wraps:
        return natural
    longest = max((cells_of(word) for cell in cells for word in str(cell).split()), default=0)
    return min(natural, max(LEAST, longest, cells_of(column.heading)))


def _natural(cell: str | Text) -> int:
    return max(map(cells_of, str(cell).splitlines()), default=0)


def _printable(cell: str | Text) -> str | Text:
    """An escape is wider than what it stands for: cells are measured after it."""
    return printable(cell) if isinstance(cell, str) else Text(printable(cell.plain), cell.style)


def _styled(cell: str | Text, style: str) -> Text:
    return cell if isinstance(cell, Text) else Text(cell, style)


def _block(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    """The lines of one row."""
    wrapped = [wrap(cell.plain, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, wrapped))):
        line = Text()
        for cell, parts, width in zip(cells, wrapped, widths, strict=True):
            part = parts[number] if number < len(parts) else ""
            line.append(part, cell.style).append(" " * (width - cells_of(part)) + GAP)
        line.rstrip()
        lines.append(line)
    return lines
