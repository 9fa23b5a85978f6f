"""Parameters of a DSN: those of KEDA's driver, and all others, which it sets as variables of the session.

Of the driver's own ones, `tls`, `allowFallbackToPlaintext`, `charset` and `collation` count here. The others are judged
as the driver does, and do nothing: they are about what Go programs get, or about time-outs, where the trigger's
`timeout` counts.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final
from urllib.parse import unquote_plus

import re2

from keda_py.core.cron.zones import load_zone, zone_remedy
from keda_py.errors import ConfigError
from keda_py.sdk.metadata.values import read_duration

_LONGEST: Final = 4096
_TRUE: Final = ("1", "true", "TRUE", "True")
_NAME = re2.compile(r"[A-Za-z_@][A-Za-z0-9_.@]*")
_WORD = re2.compile(r"[A-Za-z0-9_]+")


def is_true(text: str) -> bool:
    """As the driver reads it."""
    return text in _TRUE


def _judge_bool(text: str) -> None:
    if text not in (*_TRUE, "0", "false", "FALSE", "False"):
        raise ValueError("is neither true nor false")


def _judge_zone(text: str) -> None:
    zone = unquote_plus(text)
    try:
        load_zone("" if zone == "Local" else zone, field="loc")
    except ConfigError:
        raise ValueError(f"is not a time zone; {zone_remedy(zone)}") from None


def _judge_duration(text: str) -> None:
    try:
        read_duration("" if text.isdigit() and text != "0" else text)
    except ValueError:
        raise ValueError("is no duration, such as 5s") from None


def _judge_number(text: str) -> None:
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise ValueError("is no whole number")


def _judge_words(text: str) -> None:
    if not all(map(_WORD.fullmatch, text.split(","))):
        raise ValueError("names no character set or collation, such as utf8mb4")


def _take(_: str) -> None: ...


def _refuse(_: str) -> None:
    raise ValueError("is of a program's own, or was removed from the driver: leave it out")


_OF_DRIVER: Final[Mapping[str, Callable[[str], None]]] = {
    **dict.fromkeys(
        (
            "allowAllFiles",
            "allowCleartextPasswords",
            "allowFallbackToPlaintext",
            "allowNativePasswords",
            "allowOldPasswords",
            "checkConnLiveness",
            "clientFoundRows",
            "columnsWithAlias",
            "compress",
            "interpolateParams",
            "multiStatements",
            "parseTime",
            "rejectReadOnly",
            "tinyInt1IsBool",
        ),
        _judge_bool,
    ),
    **dict.fromkeys(("readTimeout", "timeTruncate", "timeout", "writeTimeout"), _judge_duration),
    **dict.fromkeys(("charset", "collation"), _judge_words),
    **dict.fromkeys(("serverPubKey", "strict"), _refuse),
    **dict.fromkeys(("connectionAttributes", "tls"), _take),
    "loc": _judge_zone,
    "maxAllowedPacket": _judge_number,
}


def read_parameters(query: str) -> dict[str, str]:
    """Parse parameters by name; the last of two counts.

    Raises ValueError that names the parameter and shows no value.
    """
    if len(query) > _LONGEST:
        raise ValueError(f"has more than {_LONGEST} characters of parameters")
    found = {}
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        if not equals:
            continue  # as the driver does
        try:
            _OF_DRIVER.get(name, _take)(value)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
        if name not in _OF_DRIVER and not _NAME.fullmatch(name):
            raise ValueError("has a parameter that cannot be a variable")
        found[name] = unquote_plus(value)
    return found


def session_statements(parameters: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Make the statements that the driver sends after the log-in: the first known character set, and variables.

    Of each inner tuple one statement has to be accepted.
    """
    collate = f" COLLATE {parameters['collation']}" if "collation" in parameters else ""
    charsets = parameters.get("charset", "utf8mb4" if collate else "")
    names = tuple(f"SET NAMES {one}{collate}" for one in charsets.split(",") if one)
    variables = ", ".join(f"{name} = {value}" for name, value in parameters.items() if name not in _OF_DRIVER)
    return tuple(one for one in (names, (f"SET {variables}",) if variables else ()) if one)


def nearest(error: str, parameters: str) -> str:
    """Suggest the driver's parameter that an unknown variable resembles; "" without one."""
    names = [name for name in parameters.replace("=", " ").replace(",", " ").split() if f"'{name}'" in error]
    near = get_close_matches(names[0], _OF_DRIVER, n=1, cutoff=0.75) if names else []
    return f": did you mean {near[0]}?" if near else ""
