"""JSON that is kept takes the memory of its length."""

import tracemalloc

import orjson

from keda_py.apis.compact import compact_json


def test_what_is_kept_takes_little_more_than_its_bytes() -> None:
    value = {"kind": "ExternalMetricValueList", "items": [{"metricName": "s0-redis-q0", "value": "5"}]}
    tracemalloc.start()
    try:
        kept = [compact_json(value) for _ in range(200)]
        each = tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()
    assert orjson.loads(kept[0]) == value
    assert each < len(kept[0]) + 100  # as orjson gives it 4 KiB
