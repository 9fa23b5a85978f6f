"""Addresses as users write them. Pure."""

from urllib.parse import urlsplit


def is_http_url(text: str) -> bool:
    """Whether it names an HTTP server: http or https, and a host."""
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return False
