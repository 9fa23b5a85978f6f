"""Addresses that are asked again and again, with the parts that each request needs of them.

httpx puts each part together whenever it is asked for, which takes 20 us a request.
"""

from functools import cached_property

import httpx
from yarl import URL


class KeptAddress(httpx.URL):
    """An address that remembers its parts. It never changes: `copy_with` returns an `httpx.URL`."""

    @cached_property
    def netloc(self) -> bytes:
        return super().netloc

    @cached_property
    def userinfo(self) -> bytes:
        return super().userinfo

    @cached_property
    def host(self) -> str:
        return super().host

    @cached_property
    def port(self) -> int | None:
        return super().port

    @cached_property
    def is_absolute_url(self) -> bool:
        return super().is_absolute_url

    @cached_property
    def server(self) -> str:
        """Host and port, as errors name them."""
        return self.netloc.decode()

    @cached_property
    def encoded(self) -> URL:
        """The address as aiohttp's connections take it."""
        return URL(str(self), encoded=True)


def server_of(url: httpx.URL) -> str:
    """Return host and port of an address, as errors name them."""
    return url.server if isinstance(url, KeptAddress) else url.netloc.decode()


def encoded(url: httpx.URL) -> URL:
    """Return an address as aiohttp's connections take it."""
    return url.encoded if isinstance(url, KeptAddress) else URL(str(url), encoded=True)
