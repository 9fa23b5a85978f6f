"""Reports of wakers: what is kept of a request, and what any bytes come to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.requests import WakeRequest, read_report
from keda_py.errors import ConfigError

AGENT = "Mozilla/5.0 (X11; Linux x86_64)"
REPORT: dict[str, Any] = {
    "namespace": "shop",
    "service": "web",
    "port": "http",
    "client": "10.1.2.3",
    "userAgent": AGENT,
    "at": "2026-11-26T22:00:00Z",
    "waiting": 3,
}


def read(**changes: Any) -> WakeRequest:
    return read_report(json.dumps(REPORT | changes))


def test_a_report_says_what_asked() -> None:
    found = read()
    assert found == WakeRequest(namespace="shop", service="web", port="http", client="10.1.2.3", user_agent=AGENT)
    assert found.title == "web from 10.1.2.3, Mozilla"
    assert read(client="", userAgent="").title == "web from an unknown client"


@pytest.mark.parametrize(
    ("changes", "client", "agent"),
    [
        ({"client": "10.1.2.3\nSet-Cookie: x"}, "", AGENT),
        ({"client": "fd00::1"}, "fd00::1", AGENT),
        ({"client": 5, "userAgent": ["x"]}, "", ""),
        ({"userAgent": "a\r\n\x1b[31mred\u202e"}, "10.1.2.3", "a[31mred"),
        ({"userAgent": "x" * 1000}, "10.1.2.3", "x" * 128),
    ],
)
def test_nothing_but_printable_text_is_kept(changes: dict[str, Any], client: str, agent: str) -> None:
    found = read(**changes)
    assert (found.client, found.user_agent) == (client, agent)


@pytest.mark.parametrize(
    "report", [b"", b"[]", b"{", b'{"namespace": "shop"}', b"\xff", b'{"service": "web"}', b"[" * 4096, b" " * 5000]
)
def test_a_report_that_names_no_service_is_refused(report: bytes) -> None:
    with pytest.raises(ConfigError, match="the report of a request cannot be read"):
        read_report(report)


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_any_bytes_are_read_or_refused(report: bytes | str) -> None:
    with pytest.raises(ConfigError):
        read_report(report)
