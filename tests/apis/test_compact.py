"""Compact JSON takes the memory of its length."""

import orjson

from keda_py.apis.squeezed import compact_json
from tests.costs import bytes_kept_by


def test_what_is_kept_takes_little_more_than_its_bytes() -> None:
    value = {"kind": "ExternalMetricValueList", "items": [{"metricName": "s0-redis-q0", "value": "5"}]}
    each = bytes_kept_by(lambda: [compact_json(value) for _ in range(200)]) / 200
    written = compact_json(value)
    assert orjson.loads(written) == value
    assert each < len(written) + 100  # orjson's own result takes 4 KiB
