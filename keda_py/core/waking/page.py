"""The page that a browser gets while an environment sleeps or wakes: one HTML document that needs nothing else. Pure.

It reloads itself by a meta element, so it works without scripts, and none runs: the policy that is sent along allows
its own style, by its hash, and forms to its own site. All names are a tenant's texts and are escaped. Colours follow
the browser's light or dark setting.
"""

import base64
import hashlib
from datetime import datetime
from html import escape
from urllib.parse import quote

from keda_py.core.waking.answers import BUTTON_PATH, LONGEST_RETURN, answer, retry_after, seconds_left
from keda_py.core.waking.rules import WakeRules, WavePart

RELOAD_SECONDS = 2
MOST_WAVES = 50
_STYLE = """
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1c2430;--dim:#5b6675;--line:#e3e7ec;--full:#2f7d5b}
:root{--go:#2456c9}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2029;--text:#e8ecf1;--dim:#9aa6b5;--line:#2b3440}
:root{--full:#5cc596;--go:#8fb1ff}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--back);color:var(--text)}
body,button{font:16px/1.5 system-ui,sans-serif}
main{width:min(34rem,92vw);padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:12px}
h1{margin:0 0 .25rem;font-size:1.4rem;overflow-wrap:anywhere}p{margin:.5rem 0;color:var(--dim);overflow-wrap:anywhere}
ol{list-style:none;margin:1.25rem 0;padding:0}li{padding:.4rem 0}
li span{display:flex;justify-content:space-between;gap:1rem}
li span b{font-weight:500;overflow-wrap:anywhere}progress{width:100%;height:.4rem;accent-color:var(--full)}
button{font-weight:600;padding:.6rem 1.2rem;border:0;border-radius:8px;background:var(--go);color:var(--card)}
footer{margin-top:1.25rem;font-size:.85rem;color:var(--dim)}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'; "
    "img-src data:"
)
_ICON = '<link rel="icon" href="data:,">'
"""Without it each browser asks the sleeping application for /favicon.ico."""


def progress_page(rules: WakeRules, now: datetime, target: str = "") -> bytes:
    """Return the answer with the page that tells how far the wake is; it goes on to `target`, by default to itself."""
    goes_to = f"; url={target}" if target else ""
    reload = f'<meta http-equiv="refresh" content="{RELOAD_SECONDS}{escape(goes_to)}">'
    footer = "<footer>This page reloads by itself, and shows the application once it answers.</footer>"
    title = f"{escape(rules.owner_name)} is waking up"
    return _answer(rules, now, _document(title, reload, _progress(rules, now) + _kept_up(rules) + footer))


def confirm_page(rules: WakeRules, now: datetime, target: str) -> bytes:
    """Return the answer with the button; it reloads nothing. `target` is where the request wanted to go."""
    title = f"{escape(rules.owner_name)} is asleep"
    return _answer(rules, now, _document(title, "", _confirm(rules, target) + _kept_up(rules)))


def _answer(rules: WakeRules, now: datetime, document: str) -> bytes:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "same-origin",
        "Retry-After": str(retry_after(rules, now)),
    }
    return answer(503, document.encode(), headers)


def _document(title: str, reload: str, content: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{reload}'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{title}</title>{_ICON}<style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{content}</main></body></html>\n"
    )


def _progress(rules: WakeRules, now: datetime) -> str:
    ready, total = sum(wave.ready for wave in rules.waves), sum(wave.total for wave in rules.waves)
    count = f"Ready: {ready}/{total}. " if total else ""
    waves = "".join(map(_wave, rules.waves[:MOST_WAVES])) if len(rules.waves) > 1 else ""
    bar = f'<progress max="{total}" value="{min(ready, total)}" aria-label="ready"></progress>' if total else ""
    return f'<p role="status">{count}{escape(_time_left(rules, now))}</p>{bar}{f"<ol>{waves}</ol>" if waves else ""}'


def _wave(wave: WavePart) -> str:
    count = f"{wave.ready}/{wave.total}"
    bar = f'<progress max="{max(wave.total, 1)}" value="{min(wave.ready, wave.total)}"></progress>'
    return f"<li><span><b>{escape(wave.name)}</b><i>{count}</i></span>{bar}</li>"


def _time_left(rules: WakeRules, now: datetime) -> str:
    left = seconds_left(rules, now)
    if left is None:
        return "It is not known yet how long this takes."
    return f"About {write_span(left)} left." if left else "It takes longer than usual."


def write_span(seconds: int) -> str:
    """Return a span as people say it: 40 s, 2 min."""
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"


def _confirm(rules: WakeRules, target: str) -> str:
    usual = f" That takes about {write_span(rules.usual)}." if rules.usual else ""
    back = quote(target if len(target) <= LONGEST_RETURN else "/", safe="/")
    return (
        f"<p>Nothing runs here at this time. You can wake it.{usual}</p>"
        f'<form method="post" action="{BUTTON_PATH}?to={escape(back)}"><button type="submit">Wake it up</button></form>'
    )


def _kept_up(rules: WakeRules) -> str:
    return f"<p>Kept up by: {escape(rules.kept_up_by)}</p>" if rules.kept_up_by else ""
