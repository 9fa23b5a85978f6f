"""Addresses of SQL Server in the strings of KEDA's driver: a URL, or `key=value;` pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from keda_py.sdk.scaler import ConfigError

Encryption = Literal["none", "login", "all"]

_NAMES: Final = {
    "data source": "server",
    "address": "server",
    "addr": "server",
    "network address": "server",
    "uid": "user id",
    "user": "user id",
    "pwd": "password",
    "initial catalog": "database",
    "trust server certificate": "trustservercertificate",
}
_NOT_HERE: Final = {
    "certificate": "names a file of the operator, which is not read: use --ca-dir for authorities",
    "servercertificate": "names a file of the operator, which is not read: use --ca-dir for authorities",
    "fedauth": "is not supported: use podIdentity azure-workload, or a user and password",
    "integrated security": "is not supported: use a user and password",
    "krb5-configfile": "is not supported: use a user and password",
}
_ENCRYPT: Final[Mapping[str, Encryption]] = {
    "disable": "none",
    "false": "login",
    "optional": "login",
    "no": "login",
    "0": "login",
    "true": "all",
    "mandatory": "all",
    "yes": "all",
    "1": "all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MssqlAddress:
    """`encryption` of the log-in alone is the default; `verified`: the server's certificate is checked."""

    host: str
    port: int
    user: str
    password: SecretStr
    database: str
    encryption: Encryption = "login"
    verified: bool = False


def parse_connection(text: str) -> MssqlAddress:
    """Raises ConfigError that shows nothing of it: there may be a password in it."""
    try:
        found = _of_url(text) if text.startswith("sqlserver://") else _of_pairs(text)
    except ValueError:
        raise _wrong(
            "is neither sqlserver://user:password@host:1433?database=db nor server=...;user id=... pairs"
        ) from None
    if refused := sorted(_NOT_HERE.keys() & found.keys()):
        raise _wrong(f"{refused[0]} {_NOT_HERE[refused[0]]}")
    return address_of(found, "connectionString")


def address_of(found: Mapping[str, str], field: str) -> MssqlAddress:
    """Make an address from values by name. Raises ConfigError."""
    server, comma, after = found.get("server", "").removeprefix("tcp:").partition(",")
    port = after if comma else found.get("port", "1433")
    if "\\" in server or not server or "/" in server:
        raise _wrong("names no host, or an instance: write host and port", field)
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= 65535:
        raise _wrong("the port is not a number from 1 to 65535", field)
    encrypt = found.get("encrypt", "").lower()
    if encrypt and encrypt not in _ENCRYPT:
        raise _wrong(f"encrypt is not one of {', '.join(_ENCRYPT)}", field)
    trust = found.get("trustservercertificate", "false" if encrypt else "true").lower()
    return MssqlAddress(
        host=server,
        port=int(port),
        user=found.get("user id", ""),
        password=SecretStr(found.get("password", "")),
        database=found.get("database", ""),
        encryption=_ENCRYPT[encrypt or "false"],
        verified=trust not in ("true", "yes", "1"),
    )


def _of_url(text: str) -> dict[str, str]:
    parts = urlsplit(text)
    given = {
        "server": (parts.hostname or "") + ("\\" if parts.path.strip("/") else ""),
        "port": str(parts.port or 1433),
        "user id": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
    }
    return given | _plain(dict(parse_qsl(parts.query)))


def _of_pairs(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise ValueError("a pair")
    return _plain({name: value.strip() for name, _, value in pairs})


def _plain(found: Mapping[str, str]) -> dict[str, str]:
    small = {name.strip().lower(): value for name, value in found.items()}
    return {_NAMES.get(name, name): value for name, value in small.items()}


def _wrong(what: str, field: str = "connectionString") -> ConfigError:
    return ConfigError(f"{field}: {what}", field=field)
