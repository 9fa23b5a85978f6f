"""Tables that fit: columns that may go make room first, then long names are cut with an ellipsis; prose wraps.

What may neither go nor be cut makes lines longer than the terminal. A pipe gets every column whole, and no rule below
the headings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keda_py.terminal.console import UNBOUNDED, Text
from keda_py.terminal.foreign import printable
from keda_py.terminal.wrapping import cells_of, cut, wrap

LEAST = 24
"""Cells that a column of prose keeps before other columns are left out."""
# Cells that a name keeps when it is cut: the namespace's beginning and the object's end can still be told apart.
LEAST_NAME = 20
SHORTEST = 16
"""Cells that prose and names keep if even that does not fit."""
GAP = "  "

Row = Sequence[str | Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Column of a table.

    `wraps`: prose, broken between words. `cuts`: a name, cut in its middle where room is short. `goes`: the order in
    which columns are left out where that is not enough; 0 stays.
    """

    heading: str
    wraps: bool = False
    cuts: bool = False
    goes: int = 0
    style: str = ""


def draw_table(columns: Sequence[Column], rows: Sequence[Row], width: int, height: int | None = None) -> Text:
    """Draw headings and rows, the last row at the bottom; above `height` lines the first rows are left out."""
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = _widths(columns, rows, width)
    head = _block([Text(columns[index].heading, "bold") for index in widths], [*widths.values()])
    rule = [] if width >= UNBOUNDED else [Text("─" * min(_sum(widths.values()), width), "dim")]
    left = None if height is None else height - len(head) - len(rule)
    body: list[list[Text]] = []
    for row in reversed(rows):
        block = _block(
            [_cell(row[index], columns[index], cells) for index, cells in widths.items()], [*widths.values()]
        )
        if left is not None and (left := left - len(block)) < 0:
            break
        body.insert(0, block)
    lines = [*head, *rule, *(line for block in body for line in block)]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(lines)


def _widths(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Mapping[int, int]:
    """Compute the cells of each column that stays, by its index."""
    natural = [max(map(_natural, (column.heading, *(row[i] for row in rows)))) for i, column in enumerate(columns)]
    least = [_least(column, natural[i], [row[i] for row in rows]) for i, column in enumerate(columns)]
    kept = _fitting_columns(columns, least, width)
    for most in (LEAST, SHORTEST):
        if _sum(least[i] for i in kept) > width:  # nothing more can go: long words of prose are cut as names are
            least = [
                min(cells, most) if columns[i].wraps or columns[i].cuts else cells for i, cells in enumerate(least)
            ]
    spare = max(width - _sum(least[i] for i in kept), 0)
    return _shared({i: least[i] for i in kept}, natural, spare)


def _fitting_columns(columns: Sequence[Column], least: Sequence[int], width: int) -> list[int]:
    kept = list(range(len(columns)))
    going = sorted((columns[i].goes, i) for i in kept if columns[i].goes)
    for _, index in going:
        if _sum(least[i] for i in kept) <= width:
            break
        kept.remove(index)
    return kept


def _sum(cells: Iterable[int]) -> int:
    """Compute the width of a line with these columns and the gaps between them."""
    each = list(cells)
    return sum(each) + len(GAP) * max(len(each) - 1, 0)


def _shared(least: dict[int, int], natural: Sequence[int], spare: int) -> Mapping[int, int]:
    """Share spare cells among the columns that wrap or are cut, first to those that need the least."""
    wanting = sorted((i for i in least if natural[i] > least[i]), key=lambda i: natural[i] - least[i])
    for number, index in enumerate(wanting):
        more = min(natural[index] - least[index], spare // (len(wanting) - number))
        least[index] += more
        spare -= more
    return least


def _least(column: Column, natural: int, cells: Iterable[str | Text]) -> int:
    if column.cuts:
        return min(natural, max(LEAST_NAME, cells_of(column.heading)))
    if not column.wraps:
        return natural
    longest = max((cells_of(word) for cell in cells for word in str(cell).split()), default=0)
    return min(natural, max(LEAST, longest, cells_of(column.heading)))


def _natural(cell: str | Text) -> int:
    return max(map(cells_of, str(cell).splitlines()), default=0)


def _printable(cell: str | Text) -> str | Text:
    """Escape a cell before it is measured, since an escape is wider than the character that it stands for."""
    return printable(cell) if isinstance(cell, str) else Text(printable(cell.plain), cell.style)


def _cell(cell: str | Text, column: Column, width: int) -> Text:
    style = cell.style if isinstance(cell, Text) else column.style
    return Text(cut(str(cell), width) if column.cuts else str(cell), style)


def _block(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    """Lay out one row, which takes several lines if a cell wraps."""
    wrapped = [
        [cut(line, width) for line in wrap(cell.plain, width)] for cell, width in zip(cells, widths, strict=True)
    ]
    lines = []
    for number in range(max(map(len, wrapped))):
        line = Text()
        for cell, parts, width in zip(cells, wrapped, widths, strict=True):
            part = parts[number] if number < len(parts) else ""
            line.append(part, cell.style).append(" " * (width - cells_of(part)) + GAP)
        line.rstrip()
        lines.append(line)
    return lines
