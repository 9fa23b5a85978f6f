"""Addresses of ClickHouse in the form of KEDA's driver: `clickhouse://user:password@host:9000/database?secure=true`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import re2
from pydantic import SecretStr

from keda_py.sdk.metadata.values import read_duration
from keda_py.sdk.scaler import ConfigError

_PORTS: Final = {(False, False): 9000, (False, True): 9440, (True, False): 8123, (True, True): 8443}
"""By HTTP or not, with TLS or not; KEDA's driver wants a port."""
_SETTING = re2.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_DURATIONS: Final = frozenset({"dial_timeout", "read_timeout", "conn_max_lifetime"})
_DRIVER: Final = _DURATIONS | {
    *("debug", "compress", "compress_level", "max_compression_buffer", "block_buffer_size", "client_info_product"),
    *("connection_open_strategy", "max_open_conns", "max_idle_conns"),
}
"""Parameters of the driver itself, which change nothing of what a query answers."""
_YES: Final = frozenset({"", "true", "t", "1"})
_NO: Final = frozenset({"false", "f", "0"})
_REFUSED: Final = frozenset({"http_proxy", "http_path"})
_MOST_SETTINGS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickHouseAddress:
    """Servers in the order in which to try them. `settings`: of the session, as texts."""

    hosts: Sequence[tuple[str, int]]
    database: str
    username: str
    password: SecretStr
    by_http: bool = False
    secure: bool = False
    unverified: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def parse_dsn(text: str, *, secure: bool = False, unverified: bool = False) -> ClickHouseAddress:
    """`secure` and `unverified`: as if the text said so. Raises ConfigError that shows nothing of it."""
    try:
        url = urlsplit(text)
        given = dict(parse_qsl(url.query, keep_blank_values=True))
        secure = secure or url.scheme == "https" or _is_on(given, "secure")
        unverified = unverified or _is_on(given, "skip_verify")
        by_http = url.scheme in ("http", "https")
        if secure and url.scheme == "http":
            raise ValueError("http with secure: write https")
        hosts = [_host(place, _PORTS[by_http, secure]) for place in url.netloc.rpartition("@")[2].split(",")]
        settings = _settings(given)
    except ValueError as error:
        raise _wrong(str(error)) from None
    return ClickHouseAddress(
        hosts=hosts,
        database=unquote(url.path.removeprefix("/")) or "default",
        username=given.get("username") or _credential(url, 0) or "default",
        password=SecretStr(given.get("password") or _credential(url, 2)),
        by_http=by_http,
        secure=secure,
        unverified=unverified,
        settings=settings,
    )


def _credential(url: SplitResult, part: int) -> str:
    return unquote(url.netloc.rpartition("@")[0].partition(":")[part])


def _is_on(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name)
    if text is None or text.lower() in _NO:
        return False
    if text.lower() not in _YES:
        raise ValueError(f"{name} is neither true nor false")
    return True


def _host(place: str, default: int) -> tuple[str, int]:
    bare, _, port = place.rpartition(":") if not place.endswith("]") and ":" in place else (place, "", "")
    host, number = bare.strip("[]"), port or str(default)
    if not host or any(letter in host for letter in "/?# ") or not (number.isascii() and number.isdigit()):
        raise ValueError("is not clickhouse://user:password@host:9000/database")
    if not 0 < int(number[:6]) <= 65535:
        raise ValueError("has a port that is not one: write 9000")
    return host, int(number)


def _settings(given: Mapping[str, str]) -> dict[str, str]:
    found = dict[str, str]()
    for name, value in given.items():
        if name in _REFUSED:
            raise ValueError(f"{name} is not known here: remove it")
        if name in _DURATIONS:
            read_duration(value)
        if name in _DRIVER or name in ("secure", "skip_verify", "username", "password"):
            continue
        if not _SETTING.fullmatch(name) or len(found) >= _MOST_SETTINGS:
            raise ValueError("has a parameter that is no setting of ClickHouse, as max_execution_time is")
        found[name] = {"true": "1", "false": "0"}.get(value.lower(), value)
    return found


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"connectionString: {what}", field="connectionString")
