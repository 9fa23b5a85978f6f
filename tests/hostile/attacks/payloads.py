"""Texts that are cheap to write and dear to read, each made once."""

import gzip
import zlib
from functools import cache

LARGEST_CONFIG_MAP = 120_000
ANSWER_BYTES = 16_000_000


@cache
def nested(opening: str, closing: str, size: int, core: str = "1") -> str:
    depth = (size - len(core)) // (len(opening) + len(closing))
    return opening * depth + core + closing * depth


@cache
def yaml_block(size: int) -> str:
    """Deep without a single bracket: "- - - ... 1"."""
    return "- " * (size // 2) + "1"


@cache
def yaml_merges(depth: int = 28) -> str:
    """Each mapping merges the one before twice."""
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, depth)]
    return "\n".join([*lines, "value: 1"])


@cache
def yaml_aliases(depth: int = 40) -> str:
    """Each list holds the one before nine times."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, depth)]
    return "\n".join([*lines, "value: 1"])


@cache
def yaml_sexagesimal(size: int) -> str:
    return "value: 1" + ":1" * (size // 2)


@cache
def json_objects(size: int = ANSWER_BYTES) -> bytes:
    """Very many items with nothing in them."""
    return b"[" + b"{}," * (size // 3) + b"{}]"


@cache
def zipped(size: int, times: int = 1) -> bytes:
    """Zeros, which shrink to a thousandth, zipped so many times."""
    data = bytes(size)
    for _ in range(times):
        data = gzip.compress(data, 6, mtime=0)
    return data


@cache
def deflated(size: int) -> bytes:
    return zlib.compress(bytes(size), 6)


@cache
def exposition(size: int = ANSWER_BYTES) -> bytes:
    """Very many samples of one metric, none of them the one that is asked for."""
    line = b'jobs{queue="other",label="value"} 1\n'
    return b"# TYPE jobs gauge\n" + line * (size // len(line))


@cache
def prometheus_series(size: int = ANSWER_BYTES) -> bytes:
    one = b'{"metric":{"a":"b"},"value":[1,"1"]},'
    return (
        b'{"status":"success","data":{"resultType":"vector","result":[' + one * (size // len(one)) + one[:-1] + b"]}}"
    )
