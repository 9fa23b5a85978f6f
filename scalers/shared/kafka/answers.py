"""Answers of brokers: bytes in, plain values out. May run in another process (`ScalerContext.parse`)."""

import struct
from typing import Any, Final

from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 4 * 1024
"""A longer answer may take more than 10 ms: aiokafka reads field by field."""

_RESPONSES = {
    (form.API_KEY, form.API_VERSION): form.RESPONSE_TYPE
    for request in (MetadataRequest, FindCoordinatorRequest, OffsetFetchRequest, OffsetRequest)
    for form in request._CLASSES
}


def read_answer(text: bytes, api_key: int, version: int) -> dict[str, Any]:
    """The fields by name, as the protocol's guide has them. Raises ScalerError."""
    try:
        fields: dict[str, Any] = _RESPONSES[api_key, version].decode(text).to_object()
    except (ValueError, struct.error, TypeError):
        raise ScalerError("a broker answers something that is not Kafka's protocol") from None
    return fields
