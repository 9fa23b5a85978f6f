"""Sinks: the destination of a CloudEventSource, opened once, which takes one event at a time.

`delivery.py` decides when, and how often. No error text repeats an address: it may hold a secret.
"""

from dataclasses import dataclass, field
from typing import Protocol

import httpx

from keda_py.core.cloud_events import CloudEvent, Origin, write_batch, write_http
from keda_py.core.values.urls import is_http_url
from keda_py.errors import ConfigError, KedaPyError
from keda_py.net.redirect_rule import GUARDED, RedirectRule

ANSWER_SECONDS = 30.0
CONNECT_SECONDS = 5.0
TRY_AGAIN = frozenset({408, 425, 429})
"""The 4xx that are temporary and not caused by the event."""

# An event is no credential, and this kind of receiver is given none.
_PUBLIC = RedirectRule(public=frozenset({"headers", "body"}))

URI = "spec.destination.http.uri"
ENDPOINT = "spec.destination.azureEventGridTopic.endpoint"


class SinkError(KedaPyError):
    """A sink did not accept an event; `refused`: a repeat would be refused as well."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class Sink(Protocol):
    """Interface of an open destination that events are sent to."""

    @property
    def label(self) -> str:
        """Label of the metrics, in KEDA's words."""
        ...

    async def send(self, event: CloudEvent) -> None:
        """Return once the sink has accepted the event. Raises SinkError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSink:
    """A CloudEvents receiver over HTTP, in binary mode; any 2xx means that it has accepted the event."""

    http: httpx.AsyncClient
    uri: str = field(repr=False)
    origin: Origin
    label: str = "http"

    async def send(self, event: CloudEvent) -> None:
        headers, body = write_http(event, self.origin)
        await post(self.http, self.uri, headers, body, _PUBLIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGridSink:
    """A custom topic of Azure Event Grid, by access key."""

    http: httpx.AsyncClient
    endpoint: str = field(repr=False)
    access_key: str = field(repr=False)
    origin: Origin
    label: str = "azureEventGridTopic"

    async def send(self, event: CloudEvent) -> None:
        headers, body = write_batch(event, self.origin)
        url = str(httpx.URL(self.endpoint).copy_merge_params({"api-version": "2018-01-01"}))
        await post(self.http, url, headers | {"aeg-sas-key": self.access_key}, body)


def check_address(uri: str, where: str) -> None:
    """Raise ConfigError, without the address in its text, if it is not the URL of an HTTP server."""
    if not is_http_url(uri):
        message = f"{where}: is not the address of an HTTP server; write http://HOST/PATH or https://"
        raise ConfigError(message, field=where)


async def post(
    http: httpx.AsyncClient, uri: str, headers: dict[str, str], body: bytes, redirects: RedirectRule = GUARDED
) -> None:
    """Send one event. Raises SinkError."""
    try:
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, pool=ANSWER_SECONDS)
        extensions = {"redirects": redirects}
        answer = await http.post(uri, headers=headers, content=body, timeout=timeout, extensions=extensions)
    except httpx.TimeoutException:
        raise SinkError("no answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise SinkError(f"no answer: {_text(error)}") from None
    if answer.request.method != "POST":
        # Clients follow 301, 302 and 303 with a GET, so that no receiver has got the event.
        raise SinkError("the event was redirected to where it cannot be posted", refused=True)
    if not answer.is_success:
        refused = 400 <= answer.status_code < 500 and answer.status_code not in TRY_AGAIN
        raise SinkError(f"status {answer.status_code}", refused=refused)


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, httpx.RequestError) else type(error).__name__
