"""`spec.wakeOnRequest` of an Environment: which requests wake it, for how long, and what clients see meanwhile.

`core/waking/spec.py` applies the defaults; the status says which Services are covered, and which cannot be.
"""

from typing import Annotated, Literal

from pydantic import Field

from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.schema_marks import Timestamp
from keda_py.apis.wire import Count, Name, Wire

MOST_SERVICES, MOST_PATTERNS = 50, 50
"""Services that one object may name, and patterns of each list: all of them stand in an annotation of each slice."""

Patterns = Annotated[list[Name], Field(max_length=MOST_PATTERNS)]


class ServicesSelector(LabelSelector):
    """Services by their labels, or by their names."""

    names: Annotated[list[Name], Field(max_length=MOST_SERVICES)] = []
    """Names of Services; instead of labels."""


class IgnoredRequests(Wire):
    """Requests that are answered without waking anything; `*` stands for any text."""

    paths: Patterns = []
    """Paths without their query, such as /healthz or /status/*."""
    user_agents: Patterns = []
    """User agents, such as kube-probe/*."""
    status: Count | None = None
    """Status of the answer, 200 or 503; 503 by default."""


class WakeOnRequest(Wire):
    """A request for a Service of a sleeping environment wakes the environment."""

    services: ServicesSelector | None = None
    """Every Service whose selector selects a member by default."""
    for_: Annotated[str, Field(alias="for", description="How long it stays awake after a request; 1h by default.")] = ""
    hold: str = ""
    """How long a request waits for a ready pod, at most 10m; 2m by default."""
    ignore: IgnoredRequests | None = None
    page: Literal["", "Auto", "Never", "Confirm"] = ""
    """Auto: browsers get a page with the progress. Never: each request is held. Confirm: a person has to press a button
    on the page, so that crawlers wake nothing."""
    require_waker: bool = False
    """Stay awake while no waker is ready; by default it sleeps and cannot be woken by requests."""


class NotWoken(Wire):
    """Service, or one of its ports, whose requests wake nothing."""

    service: str = ""
    reason: str = ""
    """For example Headless, ExternalName, NoSelector, NoTcpPort, NoWaker."""
    because: str = ""


class WakeRequestStatus(Wire):
    """Last request that woke the environment. Neither its path nor its query is kept."""

    service: str = ""
    client: str = ""
    """Address from which the waker was reached."""
    user_agent: str = ""
    at: Timestamp = ""
    until: Timestamp = ""


class WakeOnRequestStatus(Wire):
    """Services whose requests wake the environment, and those whose requests cannot."""

    services: list[str] = []
    """The first 50 Services."""
    ready: Count = 0
    """Services whose requests reach a waker now."""
    not_woken: list[NotWoken] = []
    last_request: WakeRequestStatus | None = None
    wakes: Count = 0
    """Wakes by requests so far."""
