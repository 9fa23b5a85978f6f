"""Requests that ask for a wake, as wakers report them.

The report comes from a process that handles hostile bytes, so each text is bounded and printable before it is stored.
Neither path nor query nor any header but the user agent is part of it.
"""

import ipaddress
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.apis.environments.waking import WakeRequestStatus
from keda_py.core.values.times import parse_optional_time, write_time
from keda_py.errors import ConfigError

REQUESTED = "keda-py.dev/requested-at"
"""Annotation of a ScaledObject with the time of the last request that a waker held for it, and where it came from."""
LONGEST_REPORT = 4096
"""Bytes of a report: two names of 253 characters and a user agent fit in a quarter of that."""
LONGEST_AGENT, _LONGEST_NAME = 128, 253


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRequest:
    """One request. `client` is an IP address, or "" if the waker could not tell."""

    namespace: str
    service: str
    port: str = ""
    client: str = ""
    user_agent: str = ""

    @property
    def title(self) -> str:
        """Say where it went and who sent it: `web from 10.1.2.3, Mozilla`."""
        product = self.user_agent.partition("/")[0].partition(" ")[0]
        return f"{self.service} from {self.client or 'an unknown client'}" + (f", {product}" if product else "")

    def status(self, now: datetime, until: datetime) -> WakeRequestStatus:
        return WakeRequestStatus(
            service=self.service,
            client=self.client,
            user_agent=self.user_agent,
            at=write_time(now),
            until=write_time(until),
        )


def read_report(report: bytes | str) -> WakeRequest:
    """Read a waker's report. Raises ConfigError."""
    try:
        if len(report) > LONGEST_REPORT:
            raise ValueError(f"it is longer than {LONGEST_REPORT} bytes")
        found = json.loads(report)
        if not isinstance(found, dict):
            raise ValueError("it is not an object")
        return WakeRequest(
            namespace=_name(found, "namespace"),
            service=_name(found, "service"),
            port=_printable(found.get("port"), 63),
            client=_address(found.get("client")),
            user_agent=_printable(found.get("userAgent"), LONGEST_AGENT),
        )
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the report of a request cannot be read: {error}") from None


def write_requested(request: WakeRequest, now: datetime) -> str:
    """Write the annotation: the time, a space, and the request's title."""
    return f"{write_time(now)} {request.title}"


def read_requested(text: str) -> datetime | None:
    """Read the time of the annotation; None without one, or if its owner has made it unreadable."""
    try:
        return parse_optional_time(text.partition(" ")[0], field=REQUESTED)
    except ConfigError:
        return None


def _name(found: dict[str, Any], key: str) -> str:
    text = _printable(found.get(key), _LONGEST_NAME)
    if not text or text != found.get(key):
        raise ValueError(f"{key} is not a name")
    return text


def _printable(value: object, longest: int) -> str:
    text = value[: 4 * longest] if isinstance(value, str) else ""
    return "".join(character for character in text if " " <= character <= "~")[:longest].strip()


def _address(value: object) -> str:
    try:
        return str(ipaddress.ip_address(value)) if isinstance(value, str) and len(value) <= 45 else ""
    except ValueError:
        return ""
