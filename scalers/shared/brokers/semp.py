"""Answers of Solace's SEMP: version 2 is JSON, version 1 XML. May run in another process."""

from collections.abc import Mapping
from typing import Any, Final

import re2

from keda_py.errors import ScalerError
from keda_py.sdk.metadata.values import parse_int
from scalers.shared.answers.json_fields import child, json_object, whole_or_none
from scalers.shared.answers.xml_tree import read_xml

XML_INLINE_BYTES: Final = 16 * 1024
"""A longer answer may take more than 10 ms."""
_RESULT = re2.compile(rb"<execute-result\s[^>]*code\s*=\s*[\"']([^\"']*)")
_OK: Final = 200

_STATS: Final = (
    "current-egress-byte-rate-per-second",
    "average-egress-byte-rate-per-minute",
    "current-egress-rate-per-second",
    "average-egress-rate-per-minute",
)


def vpn_state(text: bytes) -> str:
    """`up` where a message VPN is active. Raises ScalerError."""
    return str(child(_checked(text), "data").get("state", "unknown"))[:100]


def queue_counts(text: bytes) -> tuple[int, int, int]:
    """Messages in a queue, bytes of its spool, and messages received in a second. Raises ScalerError."""
    answer = _checked(text)
    data, messages = child(answer, "data"), child(child(answer, "collections"), "msgs")
    found = (
        whole_or_none(messages, "count"),
        whole_or_none(data, "msgSpoolUsage"),
        whole_or_none(data, "averageRxMsgRate"),
    )
    if found[0] is None or found[1] is None or found[2] is None:
        raise ScalerError("the answer lacks the queue's messages, its spool or its rate")
    return found[0], found[1], found[2]


def _checked(text: bytes) -> Mapping[str, Any]:
    answer = json_object(text)
    code = whole_or_none(child(answer, "meta"), "responseCode")
    if code != _OK:
        raise ScalerError(f"solace semp api returned error status: {code}")
    return answer


def client_rates(text: bytes, vpn: str) -> list[int]:
    """Sums over the clients of a VPN: bytes now and on average, messages now and on average. Raises ScalerError."""
    stats = [_child(client, "stats") for client in _clients(text, vpn)]
    return [sum(_number(one, name) for one in stats) for name in _STATS]


def queued_for_clients(text: bytes, vpn: str) -> tuple[int, int]:
    """Messages, and units of work, that wait in the queues D-1 of a VPN's clients. Raises ScalerError."""
    queues = [queue for client in _clients(text, vpn) for queue in _children(client, "client-queue")]
    direct = [queue for queue in queues if queue.get("queue-priority") == "D-1"]
    return sum(_number(one, "length-msgs") for one in direct), sum(_number(one, "length-work") for one in direct)


def _clients(text: bytes, vpn: str) -> list[Mapping[str, Any]]:
    result = _RESULT.search(text)
    if result is not None and result.group(1) != b"ok":
        raise ScalerError("solace refuses the command")
    document = read_xml(text)
    here: Mapping[str, Any] = document if isinstance(document, dict) else {}
    if "rpc-reply" not in here:
        raise ScalerError("the answer is XML, but not of SEMP: <rpc-reply> is missing")
    for name in ("rpc-reply", "rpc", "show", "client", "primary-virtual-router"):
        here = _child(here, name)
    return [client for client in _children(here, "client") if client.get("message-vpn") == vpn]


def _child(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def _children(parent: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = parent.get(name, [])
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _number(parent: Mapping[str, Any], name: str) -> int:
    text = parent.get(name)
    try:
        return parse_int(text if isinstance(text, str) else "")
    except ValueError:
        raise ScalerError(f"{name} is not a whole number in the answer") from None
