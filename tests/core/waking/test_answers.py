"""Answers to requests for what sleeps, and the page."""

import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from keda_py.core.waking.answers import Course, agent_of, course, retry_after, return_target, unavailable
from keda_py.core.waking.page import POLICY, confirm_page, progress_page
from keda_py.core.waking.rules import Ignored, Page, WakeRules, WakeState, WavePart
from keda_py.core.waking.sniffing import HttpHead

NOW = datetime(2026, 11, 26, 22, 0, tzinfo=UTC)
BROWSER = {"user-agent": "Mozilla/5.0", "accept": "text/html", "sec-fetch-mode": "navigate"}


def rules(**more: object) -> WakeRules:
    plain: dict[str, object] = {
        "owner_kind": "Environment", "owner_name": "night", "service_name": "web", "service_uid": "u",
        "state": WakeState.ASLEEP, "hold": 120,
    }  # fmt: skip
    return WakeRules(**{**plain, **more})  # type: ignore[arg-type]


def head(method: str = "GET", target: str = "/", **headers: str) -> HttpHead:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpHead(method=method, target=target, version="1.1", headers=named, length=0)


def browser(method: str = "GET", target: str = "/", **more: str) -> HttpHead:
    return HttpHead(method=method, target=target, version="1.1", headers={**BROWSER, **more}, length=0)


@pytest.mark.parametrize(
    ("asked", "page", "expected"),
    [
        pytest.param(browser(), Page.AUTO, Course.PAGE, id="a browser's navigation"),
        pytest.param(browser(), Page.NEVER, Course.HOLD, id="no page wanted"),
        pytest.param(browser(), Page.CONFIRM, Course.CONFIRM, id="a click wanted"),
        pytest.param(browser("POST"), Page.AUTO, Course.HOLD, id="a form that was filled in"),
        pytest.param(head(user_agent="curl/8", accept="*/*"), Page.AUTO, Course.HOLD, id="curl"),
        pytest.param(head(user_agent="curl/8"), Page.CONFIRM, Course.NOT_NOW, id="a program, a click wanted"),
        pytest.param(
            browser(**{"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}), Page.AUTO, Course.HOLD, id="a script's fetch"
        ),
        pytest.param(browser(upgrade="websocket"), Page.AUTO, Course.HOLD, id="a websocket"),
        pytest.param(
            head(user_agent="Mozilla/5.0", accept="text/html,*/*"), Page.AUTO, Course.PAGE, id="an old browser"
        ),
        pytest.param(head("POST", "/.keda-py/wake?to=/a", sec_fetch_site="same-origin"), Page.CONFIRM, Course.BUTTON, id="button"),
        pytest.param(head("POST", "/.keda-py/wake", sec_fetch_site="cross-site"), Page.CONFIRM, Course.IGNORED, id="other site"),
        pytest.param(head("GET", "/.keda-py/wake"), Page.CONFIRM, Course.NOT_NOW, id="a crawler follows the button"),
    ],
)  # fmt: skip
def test_each_kind_of_request_has_its_course(asked: HttpHead, page: Page, expected: Course) -> None:
    assert course(asked, rules(page=page)) is expected


def test_with_confirm_a_program_waits_once_somebody_has_confirmed() -> None:
    assert course(head(), rules(page=Page.CONFIRM, state=WakeState.WAKING)) is Course.HOLD


@pytest.mark.parametrize(
    ("pattern", "agent", "matches"),
    [
        ("kube-probe/*", "kube-probe/1.36", True),
        ("kube-probe/*", "my-kube-probe/1", False),
        ("*bot*", "Googlebot/2.1", True),
        ("a*a", "a", False),
        ("a*b*c", "axbxbc", True),
        ("GoogleHC/*", "googlehc/1.0", False),
        ("*", "", True),
    ],
)
def test_a_star_stands_for_any_text(pattern: str, agent: str, matches: bool) -> None:
    asked = head(user_agent=agent)
    assert (course(asked, rules(ignored=Ignored(user_agents=(pattern,)))) is Course.IGNORED) is matches


def test_a_pattern_of_many_stars_costs_no_more_than_its_length_times_the_texts() -> None:
    asked = head(user_agent="a" * 8000)
    course(asked, rules(ignored=Ignored(user_agents=("*a" * 100 + "*b",))))  # a regular expression would never end


def test_paths_are_compared_without_their_query_and_host() -> None:
    ignoring = rules(ignored=Ignored(paths=("/healthz", "/status/*")))
    for target in ("/healthz?full=1", "/status/db", "http://web/healthz"):
        assert course(head(target=target), ignoring) is Course.IGNORED
    assert course(head(target="/healthz/x"), ignoring) is Course.HOLD


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("/shop?id=7", "/shop?id=7"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/a\r\nSet-Cookie: a", "/"),
        ("", "/"),
        ("/" + "a" * 3000, "/"),
    ],
)
def test_the_button_leads_back_to_a_path_of_the_same_site_alone(to: str, expected: str) -> None:
    from urllib.parse import quote

    assert return_target(head("POST", f"/.keda-py/wake?to={quote(to)}")) == expected


def test_of_the_user_agent_one_short_plain_line_is_told() -> None:
    assert agent_of(head(user_agent="a\x1b[31mb" + "c" * 500)) == "a?[31mb" + "c" * 121


def test_programs_learn_the_state_and_when_to_come_back() -> None:
    waking = rules(
        state=WakeState.WAKING, ready_at=NOW + timedelta(seconds=40), waves=(WavePart(name="db", ready=1, total=3),)
    )
    top, _, body = unavailable(waking, NOW, "too slow").partition(b"\r\n\r\n")
    assert b"Retry-After: 40" in top
    told = json.loads(body)
    assert (told["error"], told["ready"], told["total"], told["secondsLeft"]) == ("too slow", 1, 3, 40)
    assert unavailable(waking, NOW, "too slow", body=False).endswith(b"\r\n\r\n")


@pytest.mark.parametrize(("seconds", "expected"), [(-5, 2), (1, 2), (40, 40), (4000, 120)])
def test_retry_after_stays_within_bounds(seconds: int, expected: int) -> None:
    assert retry_after(rules(state=WakeState.WAKING, ready_at=NOW + timedelta(seconds=seconds)), NOW) == expected


class Tags(HTMLParser):
    """Tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def text_of(answer: bytes) -> str:
    return answer.partition(b"\r\n\r\n")[2].decode()


def test_the_page_tells_progress_time_left_and_who_else_keeps_it_up_without_a_script() -> None:
    waking = rules(
        state=WakeState.WAKING,
        ready_at=NOW + timedelta(seconds=95),
        waves=(WavePart(name="db", ready=1, total=1), WavePart(name="rest", ready=2, total=8)),
        kept_up_by="Override late by anna",
    )
    text = text_of(progress_page(waking, NOW))
    for part in ("night is waking up", "Ready: 3/9.", "About 2 min left.", "db", "2/8", "Override late by anna"):
        assert part in text
    tags = Tags(text).found
    assert ("meta", {"http-equiv": "refresh", "content": "2"}) in tags
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in tags}
    assert [attributes["href"] for tag, attributes in tags if tag == "link"] == ["data:,"]


def test_the_style_is_the_one_that_the_policy_allows() -> None:
    import base64
    import hashlib

    style = text_of(progress_page(rules(), NOW)).partition("<style>")[2].partition("</style>")[0]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in POLICY
    assert "default-src 'none'" in POLICY


def test_no_text_of_a_tenant_becomes_markup() -> None:
    evil = '"><script>alert(1)</script>'
    waking = rules(owner_name=evil, kept_up_by=evil, waves=(WavePart(name=evil, ready=0, total=1),) * 2)
    for page in (progress_page(waking, NOW), confirm_page(waking, NOW, evil)):
        assert "script" not in {tag for tag, _ in Tags(text_of(page)).found}


def test_where_nothing_is_known_the_page_says_so() -> None:
    assert "not known yet" in text_of(progress_page(rules(state=WakeState.WAKING), NOW))
    assert "longer than usual" in text_of(progress_page(rules(state=WakeState.WAKING, ready_at=NOW), NOW))
