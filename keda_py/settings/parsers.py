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
    """Where a server listens; host "" is every interface, port 0 any free port."""

    host: str
    port: int


def parse_port(text: str) -> int:
    """0..65535."""
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise ValueError("is not a port; use a number from 0 to 65535")
    return int(text)


def parse_address(text: str) -> Address | None:
    """`:8080`, `127.0.0.1:8080` or `[::1]:8080`; "0" and "" are None: off."""
    if text in ("0", ""):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ValueError('is not an address; use ":8080", "127.0.0.1:8080", "[::1]:8080", or 0 to switch it off')
    return Address(host=host.removeprefix("[").removesuffix("]"), port=parse_port(port))


def parse_loopback(text: str) -> Address:
    """An address of this machine that no other reaches: `127.0.0.1:8082`, `[::1]:8082`."""
    address = parse_address(text)
    if address is None or not (_is_address(address.host) and ip_address(address.host).is_loopback):
        raise ValueError('is not a loopback address; use for example "127.0.0.1:8082"')
    return address


def parse_namespaces(text: str) -> tuple[str, ...]:
    """Comma separated; KEDA's manifests may hand over a literal `""`, which is all namespaces too."""
    if text == '""':
        return ()
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def parse_shards(text: str) -> int:
    """0..16."""
    if not (text.isascii() and text.isdigit()) or int(text) > 16:
        raise ValueError("is not a number of replicas; use a number from 0 to 16")
    return int(text)


def parse_positive_int(text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) < 1:
        raise ValueError("is not a whole number of at least 1")
    return int(text)


def parse_rate(text: str) -> float:
    """A number a second, 0 for no limit."""
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or len(text) > 9:
        raise ValueError("is not a number a second; use for example 50, or 0 for no limit")
    return float(text)


def parse_positive_duration(text: str) -> timedelta:
    """A Go duration longer than nothing."""
    if (duration := parse_duration(text)) <= timedelta(0):
        raise ValueError('is not longer than 0; use a duration such as "15s"')
    return duration


def parse_wait(text: str) -> timedelta:
    """A Go duration, zero allowed."""
    if (duration := parse_duration(text)) < timedelta(0):
        raise ValueError('is negative; use a duration such as "10s", or 0')
    return duration


def parse_http_timeout(text: str) -> timedelta:
    """Milliseconds; zero or less is 300 ms, as with KEDA."""
    try:
        milliseconds = int(text)
        return timedelta(milliseconds=milliseconds if milliseconds > 0 else 300)
    except (ValueError, OverflowError):
        raise ValueError("is not a number of milliseconds; use for example 3000") from None


def parse_token_expiry(text: str) -> timedelta:
    """A Go duration from 1h to 6h."""
    duration = parse_duration(text)
    if not timedelta(hours=1) <= duration <= timedelta(hours=6):
        raise ValueError("is not between 1h and 6h")
    return duration


def parse_url(text: str) -> str:
    """An https URL with a host, as the API server would call it."""
    try:
        url = urlsplit(text)
        usable = url.scheme == "https" and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError('is not an https URL; use for example "https://192.0.2.7:6443"')
    return text


def parse_origin(text: str) -> str:
    """An https URL of which only host and port count; without a slash at its end."""
    url = urlsplit(parse_url(text))
    if url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise ValueError('has more than host and port; use for example "https://adapter.datadog.svc:8443"')
    return text.rstrip("/")


def parse_hosts(text: str) -> tuple[str, ...]:
    """Names or addresses of hosts, comma separated, each as it is or `*.suffix` for all below it; in small letters."""
    hosts = tuple(dict.fromkeys(part.strip().lower().rstrip(".") for part in text.split(",") if part.strip()))
    for host in hosts:
        name = host.removeprefix("*.")
        if (
            not name
            or not name.isascii()
            or any(one in "*/@ " for one in name)
            or (":" in name and not _is_address(name))
        ):
            raise ValueError('is no list of hosts; use for example "vault.example.org,*.vault.svc.cluster.local"')
    return hosts


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def parse_tls_version(text: str) -> str:
    """TLS10, TLS11, TLS12 or TLS13."""
    return one_of("TLS10", "TLS11", "TLS12", "TLS13")(text)


def parse_cipher_names(text: str) -> tuple[str, ...]:
    """IANA names, separated by commas or colons."""
    return tuple(name for part in text.replace(":", ",").split(",") if (name := part.strip()))


def parse_log_level(text: str) -> int:
    """A level of `logging`; a number is zap's verbosity, where 1 and more is debug."""
    if text in _LOG_LEVELS:
        return _LOG_LEVELS[text]
    if text.isascii() and text.isdigit() and int(text[:9]) > 0:
        return logging.DEBUG
    raise ValueError("is not a log level; use debug, info, warn, error, panic, or a number above 0")


def one_of(*allowed: str) -> Callable[[str], str]:
    """A parser that accepts these words only."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"is unknown; use {', '.join(allowed[:-1])} or {allowed[-1]}")
        return text

    return parse
