"""Redirect rule of a request, applied by `net/http/redirects.py` for every caller.

Passed as the request extension `redirects`. Without a rule, a redirect within the origin is followed, and one to
another origin only if nothing attached may be a credential: a header that not every request has, a query, a body, a
client certificate. A redirect from https to http is never followed.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

EXTENSION = "redirects"

Part = Literal["headers", "query", "body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRule:
    """Rule for one request; `follow` False follows none.

    `public` are the parts of the request that hold no credential, as its sender declares. An Authorization header and a
    client certificate always count as credentials.
    """

    follow: bool = True
    public: Set[Part] = frozenset()


GUARDED = RedirectRule()

NO_REDIRECTS = RedirectRule(follow=False)
"""For requests for tokens and secrets: their content and their answer are meant for one address only."""
