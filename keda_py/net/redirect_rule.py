"""What a request says of redirects; `net/http/redirects.py` applies it for every caller.

Given as the request extension `redirects`. Without one, a redirect within the origin is followed, and one to another
origin only while nothing is attached that may be a credential: a header that not every request has, a query, a body, a
client certificate. Never from https to http.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

EXTENSION = "redirects"

Part = Literal["headers", "query", "body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRule:
    """`follow` False: none at all. `public` are parts of the request that hold no credential, says who asks.

    A header Authorization and a client certificate always count as credentials.
    """

    follow: bool = True
    public: Set[Part] = frozenset()


GUARDED = RedirectRule()

NO_REDIRECTS = RedirectRule(follow=False)
"""Of questions for tokens and secrets: what they send, and what they are given, is for one address only."""
