"""Addresses of MySQL in the DSN of KEDA's driver: `user:password@tcp(host:3306)/db?tls=true`.

What its parameters mean is in `mysql_parameters.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import re2
from pydantic import SecretStr

from keda_py.sdk.scaler import ConfigError
from scalers.shared.databases.mysql_parameters import is_true, read_parameters, session_statements

_PLACE = re2.compile(r"(?:([A-Za-z0-9]*)(?:\((.*)\))?)?")
_TLS: Final = {
    **dict.fromkeys(("false", "0"), "disable"),
    **dict.fromkeys(("true", "1"), "verify"),
    "skip-verify": "unverified",
    "preferred": "preferred",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlAddress:
    """`tls`: disable, preferred (where the server can), unverified, verify. `session`: see `mysql_parameters.py`.

    `plaintext`: a server that speaks no TLS is asked without it, although TLS is wanted.
    """

    host: str
    port: int
    user: str
    password: SecretStr
    database: str
    tls: str = "disable"
    plaintext: bool = False
    session: Sequence[Sequence[str]] = ()


def parse_dsn(text: str) -> MysqlAddress:
    """Raises ConfigError that shows nothing of it: there may be a password in it."""
    before, slash, after = text.rpartition("/")
    credentials, _, place = before.rpartition("@")
    user, _, password = credentials.partition(":")
    network = _PLACE.fullmatch(place)
    if not slash or network is None:
        raise _wrong("is not user:password@tcp(host:3306)/db")
    if network[1] not in ("", "tcp", None):
        raise _wrong("asks over TCP only: write user:password@tcp(host:3306)/db")
    database, _, query = after.partition("?")
    try:
        parameters = read_parameters(query)
    except ValueError as error:
        raise _wrong(str(error)) from None
    tls = parameters.get("tls", "false").lower()
    if tls not in _TLS:
        raise _wrong(f"tls is not one of {', '.join(_TLS)}: other names are those of a program's own")
    host, port = _split(network[2] or "127.0.0.1")
    return MysqlAddress(
        host=host,
        port=port_of(port, "connectionString"),
        user=user,
        password=SecretStr(password),
        database=unquote(database),
        tls=_TLS[tls],
        plaintext=is_true(parameters.get("allowFallbackToPlaintext", "")),
        session=session_statements(parameters),
    )


def port_of(text: str, field: str) -> int:
    """Raises ConfigError."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) <= 65535:
        raise ConfigError(f"{field}: the port is not a number from 1 to 65535", field=field)
    return int(text)


def _split(place: str) -> tuple[str, str]:
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":") or "3306"
    host, _, port = place.partition(":")
    return host, port or "3306"


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"connectionString: {what}", field="connectionString")
