r"""One sample of the Prometheus text format, picked by a selector such as `jobs_waiting{queue="mail"}`.

Only the metric's own lines are read: its TYPE and its samples. A reader of its own, since the client library's takes
time that grows with the square of a line, and a tenth of a second to import; this one may run in another process
(`ScalerContext.parse`).
"""

import re  # noqa: TID251 - for `lines`, whose one variable part is letters and digits; re2 takes 5 times as long a line
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import re2

from keda_py.errors import ScalerError
from scalers.shared.remembered import remembered

# More than this of a metric's own lines may take more than 10 ms.
INLINE_BYTES: Final = 8 * 1024
LONGEST_SELECTOR: Final = 1_000

_SELECTOR = re2.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{(.*)\})?\s*")
_WANTED = re2.compile(
    r"""\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?:,|$)"""
)
_LABEL = re2.compile(rb"""\s*([a-zA-Z_:][a-zA-Z0-9_:]*|"(?:[^"\\]|\\.)*")\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,\s*|(\}))""")
_SINGLE = frozenset({b"counter", b"gauge", b"unknown", b"untyped"})
_LONGEST_NUMBER = 400

# Below both, finding a metric's own lines takes less than 5 ms.
_QUICKLY_SEARCHED = 256 * 1024
_FEW = 500


@dataclass(frozen=True, slots=True)
class _Selector:
    """`lines` finds TYPE lines (their type is group 1) and samples (what follows the name is group 2)."""

    name: bytes
    wanted: Mapping[bytes, bytes]
    lines: re.Pattern[bytes]


def sample_in(text: bytes, selector: str) -> float:
    """The first counter, gauge or untyped sample with the selector's labels. Raises ScalerError.

    As with KEDA, labels are compared for equality whatever the operator says, and more labels than those may be there.
    """
    chosen = _parse(selector)
    try:
        for labels, value in _samples(text, chosen):
            if chosen.wanted.items() <= labels.items():
                return value
    except ValueError:
        name = chosen.name.decode()
        raise ScalerError(f"the samples of {name} are not in the text format of Prometheus") from None
    raise ScalerError(f"value {selector} not found")


def own_lines(text: bytes, selector: str) -> bytes:
    """Cut out the lines that `sample_in` reads if they are found quickly, else return all of the text.

    Raises ScalerError.
    """
    chosen = _parse(selector)
    if len(text) > _QUICKLY_SEARCHED or text.count(chosen.name) > _FEW:
        return text
    return b"\n".join(line[0] for line in chosen.lines.finditer(text))


def selector_problem(selector: str) -> str:
    """Explain why a selector is invalid; "" if it is valid."""
    try:
        _parse(selector)
    except ScalerError as error:
        return str(error)
    return ""


@remembered
def _parse(selector: str) -> _Selector:
    if len(selector) > LONGEST_SELECTOR:
        raise ScalerError(f"valueLocation is a selector of more than {LONGEST_SELECTOR} characters")
    shape = _SELECTOR.fullmatch(selector)
    inside = (shape[2] or "") if shape else ""
    labels, end = {}, 0
    while inside and end < len(inside) and (label := _WANTED.match(inside, end)):
        labels[label[1]], end = _unquote(label[2]), label.end()
    if shape is None or inside[end:].strip():
        raise ScalerError(f'valueLocation "{selector}" is not a selector: write name{{label="value"}}')
    name = shape[1] or labels.pop("__name__", "")
    if not name:
        raise ScalerError(f'valueLocation "{selector}" names no metric: write name{{label="value"}}')
    return _Selector(
        name=name.encode(),
        wanted={key.encode(): value.encode() for key, value in labels.items()},
        lines=re.compile(rf"^(?:# TYPE {name} (.*)|{name}([ \t{{].*))$".encode(), re.MULTILINE),
    )


def _unquote(quoted: str) -> str:
    return quoted[1:-1].replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n").replace("\\\\", "\\")


def _samples(text: bytes, selector: _Selector) -> Iterator[tuple[Mapping[bytes, bytes], float]]:
    """Yield labels and value of each single sample. Raises ValueError."""
    single = True
    for line in selector.lines.finditer(text):
        if line[1] is not None:
            single = line[1].strip() in _SINGLE
        elif single:
            labels, rest = _labels(line[2].lstrip())
            yield labels, _value(rest)


def _labels(text: bytes) -> tuple[Mapping[bytes, bytes], bytes]:
    """The labels, and what follows them."""
    labels: dict[bytes, bytes] = {}
    if not text.startswith(b"{"):
        return labels, text
    if text[1:].lstrip().startswith(b"}"):
        return labels, text[1:].lstrip()[1:]
    end, closed = 1, False
    while not closed:
        label = _LABEL.match(text, end)
        if label is None or label[1] in labels:
            raise ValueError("a label")
        labels[label[1]], end = _unescape(label[2]), label.end()
        closed = label[3] is not None or text[end : end + 1] == b"}"
    return labels, text[end:].removeprefix(b"}") if label[3] is None else text[end:]


def _unescape(value: bytes) -> bytes:
    if b"\\" not in value:
        return value
    parts = value.split(b"\\\\")
    return b"\\".join(part.replace(b'\\"', b'"').replace(b"\\n", b"\n") for part in parts)


def _value(text: bytes) -> float:
    """The first number; a time stamp may follow."""
    numbers = text.split()
    if not numbers or any(len(number) > _LONGEST_NUMBER or b"_" in number for number in (numbers[0], numbers[-1])):
        raise ValueError("no number")
    float(numbers[-1])
    return float(numbers[0])
