"""Addresses as users write them. Pure."""

from functools import lru_cache
from urllib.parse import quote, urlsplit

from keda_py.errors import ConfigError

_MOST_KEPT = 1024
"""Paths that are kept quoted: polls ask for the same ones again and again."""


def is_http_url(text: str) -> bool:
    """Whether it names an HTTP server: http or https, and a host."""
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def path_segment(field: str, name: str, *, safe: str = "") -> str:
    """Quote a name as one segment of a path, except the characters in `safe`.

    Raises ConfigError for `.` and `..`: no quoting hides these from clients and servers, which take them for a step in
    the path.
    """
    if name in (".", ".."):
        raise ConfigError(f"{field}: {name!r} is a step in a path; write a name", field=field)
    return quote(name, safe=safe)


@lru_cache(_MOST_KEPT)
def path_segments(field: str, name: str, *, safe: str = "") -> str:
    """Quote a name that has slashes of its own, as `topic/Subscriptions/name` has."""
    return "/".join(path_segment(field, part, safe=safe) for part in name.split("/"))
