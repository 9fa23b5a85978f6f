"""Answers of a waker to HTTP/1 requests for what sleeps: hold, show the page, ignore, refuse. Pure.

In: the head of a request (`sniffing.py`) and the rules of its Service (`rules.py`). Out: a `Course`, and the bytes of
an answer. `waker/connection.py` follows it; the page is in `page.py`. Nothing here may depend on a header besides those
of `course`: any client sends what it likes, so a header decides between a page and a wait, never who may wake.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from keda_py.core.waking.rules import Page, WakeRules, WakeState
from keda_py.core.waking.sniffing import HttpHead

BUTTON_PATH = "/.keda-py/wake"
"""Path to which the page's button posts; no request for it is passed on."""
LONGEST_RETURN = 2048
SHORTEST_WAIT, LONGEST_WAIT, USUAL_WAIT = 2, 120, 10
"""Bounds of Retry-After in seconds, and its value while nothing is known about earlier wakes."""
LONGEST_AGENT = 128


class Course(StrEnum):
    """What becomes of a request while nothing can answer it."""

    HOLD = "held"
    """It wakes and waits."""
    PAGE = "page"
    """It wakes, and a page tells how far that is."""
    CONFIRM = "confirm"
    """A page with a button; it wakes nothing."""
    BUTTON = "button"
    """A person has pressed the button: it wakes, and the page goes on to where the browser was."""
    IGNORED = "ignored"
    NOT_NOW = "not_now"
    """Only a person's click wakes; other clients are told so at once."""


def course(head: HttpHead, rules: WakeRules) -> Course:
    """Decide on one request."""
    if head.method == "POST" and head.path == BUTTON_PATH:
        return Course.BUTTON if _is_own_form(head) else Course.IGNORED
    agent = head.headers.get("user-agent", "")
    if _matches(rules.ignored.paths, head.path) or _matches(rules.ignored.user_agents, agent):
        return Course.IGNORED
    asks_first = rules.page is Page.CONFIRM and rules.state is WakeState.ASLEEP
    if rules.page is not Page.NEVER and _is_navigation(head):
        return Course.CONFIRM if asks_first else Course.PAGE
    return Course.NOT_NOW if asks_first else Course.HOLD


def _is_navigation(head: HttpHead) -> bool:
    """Return whether a person opens the URL in a browser: only then a page is of use.

    Browsers say so since 2020 (Sec-Fetch-Mode); of an older one HTML is what it asks for, and Mozilla its name.
    """
    if head.method != "GET" or "upgrade" in head.headers:
        return False
    mode = head.headers.get("sec-fetch-mode")
    if mode is not None:
        return mode == "navigate" and head.headers.get("sec-fetch-dest", "document") in ("document", "iframe", "frame")
    asks_for_html = "text/html" in head.headers.get("accept", "")
    return asks_for_html and head.headers.get("user-agent", "").startswith("Mozilla/")


def _is_own_form(head: HttpHead) -> bool:
    """Return whether the page itself sent the form: another site's page could otherwise wake by its visitors."""
    site = head.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = head.headers.get("origin", "")
    return origin in ("", "null") or urlsplit(origin).netloc.lower() == head.headers.get("host", "").lower()


def _matches(patterns: tuple[str, ...], text: str) -> bool:
    return any(_matches_one(pattern, text) for pattern in patterns)


def _matches_one(pattern: str, text: str) -> bool:
    """Return whether the text matches a pattern in which * stands for any text.

    The parts between the stars are found from the left, once each: a tenant's pattern can cost no more than its
    length times the text's, as a regular expression could.
    """
    first, *parts = pattern.split("*")
    if not parts:
        return text == pattern
    last = parts.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in parts:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def agent_of(head: HttpHead) -> str:
    """Return the user agent as it is told: one short line of plain characters."""
    agent = head.headers.get("user-agent", "")[:LONGEST_AGENT]
    return "".join(character if " " <= character <= "~" else "?" for character in agent)


def return_target(head: HttpHead) -> str:
    """Return where the browser goes after the button: a path of the same site, else its first page."""
    query = urlsplit(head.target).query if len(head.target) <= 2 * LONGEST_RETURN else ""
    wanted = next(iter(parse_qs(query, max_num_fields=4).get("to", ())), "/") if query.count("&") < 4 else "/"
    is_plain = wanted.isascii() and wanted.isprintable() and not set(wanted) & set('\\"<> ')
    return wanted if is_plain and wanted[:1] == "/" and wanted[1:2] != "/" and len(wanted) <= LONGEST_RETURN else "/"


def seconds_left(rules: WakeRules, now: datetime) -> int | None:
    """Return how long the wake will still take, None if it is not known."""
    if rules.ready_at is not None:
        return max(round((rules.ready_at - now).total_seconds()), 0)
    return rules.usual or None if rules.state is WakeState.ASLEEP else None


def retry_after(rules: WakeRules, now: datetime) -> int:
    """Return after how many seconds a client should ask again."""
    left = seconds_left(rules, now)
    return min(max(left, SHORTEST_WAIT), LONGEST_WAIT) if left is not None else USUAL_WAIT


def unavailable(rules: WakeRules, now: datetime, reason: str, *, body: bool = True) -> bytes:
    """Return a 503 for programs: Retry-After, and as JSON what the page tells people."""
    wait = retry_after(rules, now)
    document = {
        "error": reason,
        "kind": rules.owner_kind,
        "name": rules.owner_name,
        "service": rules.service_name,
        "state": rules.state.value,
        "ready": sum(wave.ready for wave in rules.waves),
        "total": sum(wave.total for wave in rules.waves),
        "secondsLeft": seconds_left(rules, now),
        "retryAfter": wait,
    }
    text = json.dumps(document).encode() + b"\n"
    return answer(503, text, {"Content-Type": "application/json", "Retry-After": str(wait)}, body=body)


def ignored(rules: WakeRules, *, body: bool = True) -> bytes:
    """Return the answer to a request that is to wake nothing."""
    status = rules.ignored.status if 200 <= rules.ignored.status <= 599 else 503
    text = b"ok\n" if status < 300 else b"asleep\n"
    return answer(status, text, {"Content-Type": "text/plain; charset=utf-8"}, body=body)


def plain(status: int, text: str) -> bytes:
    """Return an answer to a request that is wrong in itself."""
    return answer(status, f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"})


@lru_cache(64)
def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Status"


def answer(status: int, text: bytes, headers: Mapping[str, str], *, body: bool = True) -> bytes:
    """Return an HTTP/1.1 answer, the last one of its connection; without its body for HEAD."""
    fields = {
        **headers,
        "Content-Length": str(len(text)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (text if body else b"")
