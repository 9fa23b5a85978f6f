"""Parsers of single settings; each raises ValueError whose text follows the value and says what is accepted."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from keda_py.apis.go_values import parse_duration

_LOG_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "panic": logging.CRITICAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Listening address; host "" is every interface, port 0 any free port."""

    host: str
    port: int


def parse_port(text: str) -> int:
    """Parse a port number, 0 included."""
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise ValueError("is not a port; use a number from 0 to 65535")
    return int(text)


def parse_address(text: str) -> Address | None:
    """Parse `:8080`, `127.0.0.1:8080` or `[::1]:8080`; "0" and "" switch the server off: None."""
    if text in ("0", ""):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ValueError('is not an address; use ":8080", "127.0.0.1:8080", "[::1]:8080", or 0 to switch it off')
    return Address(host=host.removeprefix("[").removesuffix("]"), port=parse_port(port))


def parse_loopback(text: str) -> Address:
    """Parse an address that no other machine reaches: `127.0.0.1:8082`, `[::1]:8082`."""
    address = parse_address(text)
    if address is None or not (_is_address(address.host) and ip_address(address.host).is_loopback):
        raise ValueError('is not a loopback address; use for example "127.0.0.1:8082"')
    return address


def parse_namespaces(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list; a literal `""`, which KEDA's manifests may contain, is all namespaces too."""
    if text == '""':
        return ()
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def parse_shards(text: str) -> int:
    """Parse a number of shards, at most 16."""
    if not (text.isascii() and text.isdigit()) or int(text) > 16:
        raise ValueError("is not a number of replicas; use a number from 0 to 16")
    return int(text)


def parse_positive_int(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) < 1:
        raise ValueError("is not a whole number of at least 1")
    return int(text)


def parse_rate(text: str) -> float:
    """Parse a number per second, 0 for no limit."""
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or len(text) > 9:
        raise ValueError("is not a number a second; use for example 50, or 0 for no limit")
    return float(text)


def parse_positive_duration(text: str) -> timedelta:
    """Parse a duration as Go writes it, longer than 0."""
    if (duration := parse_duration(text)) <= timedelta(0):
        raise ValueError('is not longer than 0; use a duration such as "15s"')
    return duration


def parse_wait(text: str) -> timedelta:
    """Parse a Go duration, 0 included."""
    if (duration := parse_duration(text)) < timedelta(0):
        raise ValueError('is negative; use a duration such as "10s", or 0')
    return duration


def parse_http_timeout(text: str) -> timedelta:
    """Parse milliseconds; 0 and negative numbers are 300 ms, as in KEDA."""
    try:
        milliseconds = int(text)
        return timedelta(milliseconds=milliseconds if milliseconds > 0 else 300)
    except (ValueError, OverflowError):
        raise ValueError("is not a number of milliseconds; use for example 3000") from None


def parse_token_expiry(text: str) -> timedelta:
    """Parse a Go duration from 1h to 6h."""
    duration = parse_duration(text)
    if not timedelta(hours=1) <= duration <= timedelta(hours=6):
        raise ValueError("is not between 1h and 6h")
    return duration


def parse_url(text: str) -> str:
    """Parse an https URL with a host that the API server can call."""
    try:
        url = urlsplit(text)
        usable = url.scheme == "https" and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError('is not an https URL; use for example "https://192.0.2.7:6443"')
    return text


def parse_origin(text: str) -> str:
    """Parse an https URL with nothing but host and port; a slash at its end is removed."""
    url = urlsplit(parse_url(text))
    if url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise ValueError('has more than host and port; use for example "https://adapter.datadog.svc:8443"')
    return text.rstrip("/")


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse host names or addresses, comma separated, or `*.suffix` for all names below one; in lower case."""
    hosts = tuple(dict.fromkeys(part.strip().lower().rstrip(".") for part in text.split(",") if part.strip()))
    for host in hosts:
        name = host.removeprefix("*.")
        if (
            not name
            or not name.isascii()
            or any(character in "*/@ " for character in name)
            or (":" in name and not _is_address(name))
        ):
            raise ValueError('is not a list of hosts; use for example "vault.example.org,*.vault.svc.cluster.local"')
    return hosts


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def parse_tls_version(text: str) -> str:
    """Parse a minimum version by KEDA's names, TLS10 to TLS13."""
    return one_of("TLS10", "TLS11", "TLS12", "TLS13")(text)


def parse_cipher_names(text: str) -> tuple[str, ...]:
    """Parse IANA names, separated by commas or colons."""
    return tuple(name for part in text.replace(":", ",").split(",") if (name := part.strip()))


def parse_log_level(text: str) -> int:
    """Parse a level's name, or zap's verbosity as a number, of which 1 and above is debug."""
    if text in _LOG_LEVELS:
        return _LOG_LEVELS[text]
    if text.isascii() and text.isdigit() and int(text[:9]) > 0:
        return logging.DEBUG
    raise ValueError("is not a log level; use debug, info, warn, error, panic, or a number above 0")


def one_of(*allowed: str) -> Callable[[str], str]:
    """Make a parser that accepts only these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"is unknown; use {', '.join(allowed[:-1])} or {allowed[-1]}")
        return text

    return parse
