"""Compact JSON for caches: bytes objects without unused capacity."""

from typing import Any

import orjson


def compact_json(value: Any) -> bytes:
    """Write JSON to be kept in memory; orjson's own result keeps its write buffer, 4 KiB for 80 bytes."""
    return bytes(memoryview(orjson.dumps(value)))
