"""One sample of the Prometheus text format, picked by a selector such as `jobs_waiting{queue="mail"}`."""

import re2
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from keda_py.scaler import ScalerError

_SELECTOR = re2.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{(.*)\})?\s*")
_LABEL = re2.compile(
    r"""\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?:,|$)"""
)
_SINGLE = frozenset({"counter", "gauge", "unknown", "untyped"})


def sample_in(body: bytes, selector: str) -> float:
    """The first counter, gauge or untyped sample with the selector's labels. Raises ScalerError.

    As with KEDA, labels are compared for equality whatever the operator says, and more labels than those may be there.
    """
    name, wanted = _parse(selector)
    for family in _families(body, name):
        if family.type not in _SINGLE:
            continue
        for sample in family.samples:
            # The parser gives a counter's samples the suffix _total, which the text may not have.
            if sample.name in (name, f"{name}_total") and wanted.items() <= sample.labels.items():
                return float(sample.value)
    raise ScalerError(f"value {selector} not found")


def _parse(selector: str) -> tuple[str, dict[str, str]]:
    shape = _SELECTOR.fullmatch(selector)
    inside = (shape[2] or "") if shape else ""
    labels, end = {}, 0
    while inside and end < len(inside) and (label := _LABEL.match(inside, end)):
        labels[label[1]], end = _unquote(label[2]), label.end()
    if shape is None or inside[end:].strip():
        raise ScalerError(f'valueLocation "{selector}" is not a selector: write name{{label="value"}}')
    name = shape[1] or labels.pop("__name__", "")
    if not name:
        raise ScalerError(f'valueLocation "{selector}" names no metric: write name{{label="value"}}')
    return name, labels


def _unquote(quoted: str) -> str:
    return quoted[1:-1].replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n").replace("\\\\", "\\")


def _families(body: bytes, name: str) -> list[Metric]:
    try:
        return list(text_string_to_metric_families(_lines_of(body, name)))
    except ValueError:
        raise ScalerError(f"the samples of {name} are not in the text format of Prometheus") from None


def _lines_of(body: bytes, name: str) -> str:
    """Only the metric's own lines: parsing a whole exposition would hold up every other trigger."""
    text = body.decode("utf-8", "replace").replace("\r\n", "\n")
    prefixes = (f"{name}{{", f"{name} ", f"{name}\t", f"# TYPE {name} ")
    return "".join(f"{line}\n" for line in text.split("\n") if line.startswith(prefixes))
