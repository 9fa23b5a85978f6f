"""Addresses that are asked again and again, with the parts that each request needs of them.

httpx puts each part together whenever it is asked for, which takes 20 us a request.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import httpx
from yarl import URL

if TYPE_CHECKING:
    from httpx._types import QueryParamTypes

_LONGEST_QUERY = 16 * 1024
"""Characters; httpx refuses addresses of four times as many."""


class KeptAddress(httpx.URL):
    """An address that remembers its parts. It never changes: `copy_with` returns an `httpx.URL`."""

    def copy_merge_params(self, params: "QueryParamTypes") -> httpx.URL:
        """Return the address with more parameters, as httpx does, which reads it again for that, in 30 us."""
        query = str(self.params.merge(params))
        if not query or len(query) > _LONGEST_QUERY:
            return super().copy_merge_params(params)
        made = KeptAddress.__new__(KeptAddress)
        made._uri_reference = self._uri_reference._replace(query=query)
        made.netloc, made.userinfo, made.host, made.port = self.netloc, self.userinfo, self.host, self.port
        made.is_absolute_url, made.server = self.is_absolute_url, self.server
        return made

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
    def params(self) -> httpx.QueryParams:
        return super().params

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
