"""Addresses of PostgreSQL in `connection`: a URL, or `key=value` pairs. Nothing of the operator's counts.

Libraries fill gaps from PG* variables, ~/.pgpass and files that a text names: those are the operator's, so what names
a file or a socket is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

import re2
from pydantic import SecretStr

from keda_py.sdk.scaler import ConfigError

SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_PAIR = re2.compile(r"\s*([A-Za-z_.]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)")
# Characters: re2 looks at a text from its beginning for each pair, and a longer one would hold up the loop.
_LONGEST: Final = 2048
_NAMES = {"dbname": "database", "username": "user", "hostaddr": "host"}
_FILES = frozenset({"passfile", "servicefile", "service", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword"})
SESSIONS: Final = ("any", "read-write", "read-only", "primary", "standby", "prefer-standby")
"""Values of target_session_attrs."""
CHANNEL_BINDINGS: Final = ("disable", "prefer", "require")
_OF_CLIENTS = frozenset(
    {
        "channel_binding",
        "connect_timeout",
        "default_query_exec_mode",
        "description_cache_capacity",
        "fallback_application_name",
        "gssencmode",
        "krbspn",
        "krbsrvname",
        "max_protocol_version",
        "min_protocol_version",
        "min_read_buffer_size",
        "sslnegotiation",
        "sslsni",
        "statement_cache_capacity",
        "statement_cache_mode",
        "target_session_attrs",
    }
)
"""Settings of the client, which are not sent to the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """Hosts with a port each, in the order in which to try them; `settings` are sent to the server.

    `session`: what kind of server it has to be, as target_session_attrs says. `binds`: channel_binding is `require`.
    """

    hosts: Sequence[tuple[str, int]]
    user: str
    password: SecretStr
    database: str
    sslmode: str
    session: str = "any"
    binds: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def parse_connection(text: str) -> PostgresAddress:
    """Raises ConfigError that shows no value: there may be a password in any of them."""
    if len(text) > _LONGEST:
        raise _wrong(f"has more than {_LONGEST} characters")
    try:
        found = _of_url(text) if text.startswith(("postgres://", "postgresql://")) else _of_pairs(text)
    except ValueError:
        raise _wrong("is neither postgresql://user:password@host:5432/db nor host=... port=... pairs") from None
    return address_of({_NAMES.get(name, name): value for name, value in found.items()}, "connection")


def address_of(found: Mapping[str, str], field: str) -> PostgresAddress:
    """Make an address from values by name. Raises ConfigError."""
    if files := sorted(_FILES & found.keys()):
        raise _wrong(f"{files[0]} names a file of the operator, which is not read: use --ca-dir for authorities", field)
    own = {"host", "port", "user", "password", "database", "sslmode"} | _OF_CLIENTS
    sslmode = found.get("sslmode", "prefer")
    if sslmode not in SSL_MODES:
        raise _wrong(f"sslmode is not one of {', '.join(SSL_MODES)}", field if field == "connection" else "sslmode")
    session, binding = found.get("target_session_attrs", "any"), found.get("channel_binding", "prefer")
    if session not in SESSIONS:
        raise _wrong(f"target_session_attrs is not one of {', '.join(SESSIONS)}", field)
    if binding not in CHANNEL_BINDINGS:
        raise _wrong(f"channel_binding is not one of {', '.join(CHANNEL_BINDINGS)}", field)
    if binding == "require" and sslmode == "disable":
        raise _wrong("channel_binding=require needs TLS: write another sslmode than disable", field)
    user = found.get("user", "")
    return PostgresAddress(
        hosts=_hosts(found.get("host", ""), found.get("port", "5432"), field),
        user=user,
        password=SecretStr(found.get("password", "")),
        database=found.get("database") or user,
        sslmode=sslmode,
        session=session,
        binds=binding == "require",
        settings={name: value for name, value in found.items() if name not in own},
    )


def _hosts(hosts: str, ports: str, field: str) -> Sequence[tuple[str, int]]:
    names = [host.strip().strip("[]") for host in hosts.split(",")]
    numbers = [port.strip() or "5432" for port in ports.split(",")]
    if len(numbers) == 1:
        numbers *= len(names)
    if not all(names) or any(name.startswith(("/", "@")) for name in names):
        raise _wrong("names no host: a database is asked over TCP", field if field == "connection" else "host")
    good = all(one.isascii() and one.isdigit() and 0 < int(one[:6]) <= 65535 for one in numbers)
    if not good or len(numbers) != len(names):
        raise _wrong("the port is not a number from 1 to 65535, one or as many as hosts", "port")
    return [(name, int(number)) for name, number in zip(names, numbers, strict=True)]


def _of_url(text: str) -> dict[str, str]:
    parts = urlsplit(text)
    credentials, _, places = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts, ports = zip(*map(_host_and_port, places.split(",")), strict=True)
    given = {
        "host": ",".join(hosts),
        "port": ",".join(ports),
        "user": unquote(user),
        "password": unquote(password),
        "database": unquote(parts.path.removeprefix("/")),
    }
    return {name: value for name, value in given.items() if value} | dict(parse_qsl(parts.query))


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        host, _, port = place.partition("]")
        return host[1:], port.removeprefix(":") or "5432"
    host, _, port = place.partition(":")
    return unquote(host), port or "5432"


def _of_pairs(text: str) -> dict[str, str]:
    found, end = {}, 0
    for pair in _PAIR.finditer(text):
        if pair.start() != end:
            raise ValueError("a pair")
        value = pair[2][1:-1] if pair[2].startswith("'") else pair[2]
        found[pair[1]] = _unescape(value)
        end = pair.end()
    if text[end:].strip():
        raise ValueError("a pair")
    return found


def _unescape(value: str) -> str:
    return "\\".join(part.replace("\\", "") for part in value.split("\\\\"))


def _wrong(what: str, field: str = "connection") -> ConfigError:
    return ConfigError(f"{field}: {what}", field=field)
