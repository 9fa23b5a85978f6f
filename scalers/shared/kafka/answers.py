"""Answers of brokers: bytes in, plain values out. May run in another process (`ScalerContext.parse`)."""

import struct
from functools import lru_cache
from typing import Any, Final

from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 8 * 1024
"""A longer answer may take more than 10 ms: aiokafka reads field by field."""
REPEATED_BYTES: Final = 1024
"""Answers up to this length are remembered: most repeat, since layouts and idle groups rarely change."""

_UNUSED = {"replicas", "isr", "offline_replicas", "metadata", "timestamp", "is_internal", "rack"}
_RESPONSES = {
    (form.API_KEY, form.API_VERSION): form.RESPONSE_TYPE
    for request in (MetadataRequest, FindCoordinatorRequest, OffsetFetchRequest, OffsetRequest)
    for form in request._CLASSES
}


def read_answer(text: bytes, api_key: int, version: int) -> dict[str, Any]:
    """The fields that are used, by their names in the protocol's guide. Raises ScalerError."""
    try:
        fields = _RESPONSES[api_key, version].decode(text).to_object()
    except (ValueError, struct.error, TypeError):
        raise ScalerError("a broker answers something that is not Kafka's protocol") from None
    return {name: _used(value) for name, value in fields.items()}


repeated_answer = lru_cache(maxsize=128)(read_answer)
"""`read_answer` for short answers. Its values are shared, and must not be changed."""


def _used(value: Any) -> Any:
    match value:
        case dict():
            return {name: _used(inner) for name, inner in value.items() if name not in _UNUSED}
        case list():
            return [_used(one) for one in value]
    return value
