"""The part of etcd's gRPC API that triggers use: a key, its changes, and a login."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from keda_py.sdk.messages import Fields, declare

RANGE = "/etcdserverpb.KV/Range"
WATCH = "/etcdserverpb.Watch/Watch"
AUTHENTICATE = "/etcdserverpb.Auth/Authenticate"
DELETE = 1
"""The type of an event; a put is 0."""

_MESSAGES: Mapping[str, Fields] = {
    "RangeRequest": {"key": (1, "bytes"), "limit": (3, "int64")},
    "KeyValue": {"value": (5, "bytes")},
    "RangeResponse": {"kvs": (2, "repeated KeyValue")},
    "WatchCreateRequest": {"key": (1, "bytes"), "progress_notify": (4, "bool")},
    "WatchRequest": {"create_request": (1, "WatchCreateRequest")},
    "Event": {"type": (1, "int32"), "kv": (2, "KeyValue")},
    "WatchResponse": {"canceled": (4, "bool"), "cancel_reason": (6, "string"), "events": (11, "repeated Event")},
    "AuthenticateRequest": {"name": (1, "string"), "password": (2, "string")},
    "AuthenticateResponse": {"token": (2, "string")},
}


@cache
def messages() -> Mapping[str, Any]:
    """The classes by name. Raises ConfigError where the library is not installed."""
    return declare("etcd", _MESSAGES)
