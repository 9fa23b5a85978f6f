"""Requests of a scaler, compared with KEDA's in a recording by the rules of `compare` in its readMe.

A request is like another by method, server, path, query, the headers that are named, and its body by what that says.
"""

import base64
import io
import re  # noqa: TID251 - constant patterns over our own recordings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote
from xml.etree import ElementTree

import orjson

from keda_py.clock import SystemClock
from tests.scalers.recorded.likeness import Likeness
from tests.scalers.recorded.scripts import Asked, segments

_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]*)/[^/]*/([^,]*),")
_SCOPES_OF_PEOPLE = " openid offline_access profile"
Recorded = Mapping[str, Any]


def unlike_requests(recorded: Sequence[Recorded], asked: Sequence[Asked], *, unordered: bool) -> list[str]:
    """List the differences; requests that an SDK may leave out, and tries after the first, need not be there."""
    pairs = _unordered(recorded, asked) if unordered else _ordered(recorded, asked)
    return [
        *(f"KEDA asks {_shown(one)}" for one, other in pairs if one is not None and other is None),
        *(f"ours asks {other}" for one, other in pairs if one is None),
        *(
            f"asks {other}: {problem}"
            for one, other in pairs
            if one is not None and other is not None
            for problem in unlike(one, other)
        ),
    ]


def unlike(recorded: Recorded, asked: Asked) -> list[str]:
    """List the differences of one request."""
    likeness = Likeness((asked.at, SystemClock().now()))
    if "cbor" in recorded and asked.operation:
        asked = _as_cbor(asked)
    return [*_unlike_line(recorded, asked, likeness), *_unlike_headers(recorded, asked, likeness)] + (
        [] if _same_body(recorded, asked, likeness) else [f"KEDA's body is {_body_of(recorded)}"]
    )


def _as_cbor(asked: Asked) -> Asked:
    """The same operation may be asked in the protocol of JSON: where it would be asked in the other one."""
    service, _, operation = asked.operation.partition(".")
    headers = {**asked.headers, "content-type": "application/cbor"}
    return replace(asked, path=f"/service/{service}/operation/{operation}", headers=headers)


_Pairs = list[tuple[Recorded | None, Asked | None]]


def _ordered(recorded: Sequence[Recorded], asked: Sequence[Asked]) -> _Pairs:
    """The alignment with the fewest differences."""

    @cache
    def best(here: int, there: int) -> tuple[int, tuple[tuple[int | None, int | None], ...]]:
        if here == len(recorded) and there == len(asked):
            return 0, ()
        choices = []
        if here < len(recorded):
            cost, rest = best(here + 1, there)
            choices.append((cost, rest) if _may_miss(recorded[here]) else (cost + 10, ((here, None), *rest)))
        if there < len(asked):
            cost, rest = best(here, there + 1)
            choices.append((cost + 10, ((None, there), *rest)))
        if here < len(recorded) and there < len(asked):
            cost, rest = best(here + 1, there + 1)
            choices.append((cost + len(unlike(recorded[here], asked[there])), ((here, there), *rest)))
        return min(choices, key=lambda choice: choice[0])

    return [
        (None if here is None else recorded[here], None if there is None else asked[there])
        for here, there in best(0, 0)[1]
    ]


def _unordered(recorded: Sequence[Recorded], asked: Sequence[Asked]) -> _Pairs:
    left, pairs = list(asked), _Pairs()
    for one in sorted(recorded, key=_may_miss):
        found = min(left, key=lambda other: len(unlike(one, other)), default=None)
        if found is not None and not unlike(one, found):
            left.remove(found)
            pairs.append((one, found))
        elif not _may_miss(one):
            pairs.append((one, None))
    return pairs + [(None, other) for other in left]


def _may_miss(recorded: Recorded) -> bool:
    return bool(recorded.get("optional") or recorded.get("retry"))


def _unlike_line(recorded: Recorded, asked: Asked, likeness: Likeness) -> Iterator[str]:
    where = {
        "method": (recorded["m"], asked.method),
        "server": (recorded.get("server", 1), asked.place.server),
        "tls": (recorded.get("tls", False), asked.place.tls),
        "host": (_plain_host(recorded), asked.host),
        "client certificate": (recorded.get("clientCert", ""), asked.client_cert),
    }
    yield from (f"KEDA's {name} is {one!r}, ours {other!r}" for name, (one, other) in where.items() if one != other)
    if not likeness.values(segments(recorded["path"]), segments(asked.path)):
        yield f"KEDA's path is {recorded['path']}"
    if not _same_query(recorded, asked, likeness):
        yield f"KEDA's query is {recorded.get('rawQuery') or recorded.get('query', {})}"


def _plain_host(recorded: Recorded) -> str:
    return str(recorded.get("host", "")).removesuffix(":443" if recorded.get("tls") else ":80")


def _same_query(recorded: Recorded, asked: Asked, likeness: Likeness) -> bool:
    if "rawQuery" in recorded:
        return unquote(recorded["rawQuery"]) == unquote(asked.query)
    return _same_pairs(_pairs_of(recorded.get("query", {})), asked.pairs, likeness)


def _pairs_of(written: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, one) for key, value in written.items() for one in (value if isinstance(value, list) else [value])]


def _same_pairs(recorded: Sequence[tuple[str, str]], ours: Sequence[tuple[str, str]], likeness: Likeness) -> bool:
    left = list(dict.fromkeys(ours))
    for key, value in dict.fromkeys(recorded):
        found = next((pair for pair in left if pair[0] == key and likeness.texts(value, pair[1])), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _unlike_headers(recorded: Recorded, asked: Asked, likeness: Likeness) -> Iterator[str]:
    named = recorded.get("headers", {})
    for name, value in named.items():
        ours = asked.headers.get(name)
        if ours is None or not _same_header(name, value, ours, likeness):
            yield f"KEDA's header {name} is {value!r}, ours {ours!r}"
    if "authorization" in asked.headers and "authorization" not in {**named, **recorded.get("info", {})}:
        yield "KEDA sends no authorization"


def _same_header(name: str, recorded: str, ours: str, likeness: Likeness) -> bool:
    match name:
        case "content-type":
            return _media_type(recorded) == _media_type(ours)
        case "cookie":
            return set(recorded.split("; ")) == set(ours.split("; "))
        case "authorization":
            return _same_authorization(recorded, ours, likeness)
    return likeness.texts(recorded, ours)


def _media_type(written: str) -> str:
    return written.partition(";")[0].strip().lower()


def _same_authorization(recorded: str, ours: str, likeness: Likeness) -> bool:
    scheme, _, rest = recorded.partition(" ")
    our_scheme, _, our_rest = ours.partition(" ")
    if scheme != our_scheme:
        return False
    match scheme:
        case "Basic":
            return rest == f"<{_decoded(our_rest)}>"
        case "AWS4-HMAC-SHA256":
            one, other = _SIGNED.match(recorded), _SIGNED.match(ours)
            return one is not None and other is not None and one.groups() == other.groups()
        case "SharedKey":
            return rest.partition(":")[0] == our_rest.partition(":")[0]
        case "SharedAccessSignature":
            return all(parse_qs(rest.lower())[name] == parse_qs(our_rest.lower()).get(name) for name in ("sr", "skn"))
    return likeness.texts(recorded, ours)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return f"not Base64: {text}"


def _same_body(recorded: Recorded, asked: Asked, likeness: Likeness) -> bool:
    for form, same in (("json", _same_json), ("cbor", _same_cbor), ("form", _same_form), ("body", _same_text)):
        if form in recorded:
            return same(recorded[form], asked.body, likeness)
    return not asked.body


def _body_of(recorded: Recorded) -> Any:
    return next((recorded[form] for form in ("json", "cbor", "form", "body") if form in recorded), "empty")


def _same_json(recorded: Any, ours: bytes, likeness: Likeness) -> bool:
    try:
        return likeness.values(recorded, orjson.loads(ours))
    except ValueError:
        return False


def _same_cbor(recorded: Any, ours: bytes, likeness: Likeness) -> bool:
    """The same operation may be asked in the protocol of JSON."""
    from botocore.parsers import RpcV2CBORParser

    if ours.startswith(b"{"):
        return _same_json(recorded, ours, likeness)
    try:
        return likeness.values(recorded, RpcV2CBORParser().parse_data_item(io.BufferedReader(io.BytesIO(ours))))
    except (ValueError, IndexError, KeyError):
        return False


def _same_form(recorded: Mapping[str, Any], ours: bytes, likeness: Likeness) -> bool:
    pairs = parse_qsl(ours.decode(errors="replace"), keep_blank_values=True)
    return _same_pairs(_without_library(_pairs_of(recorded)), _without_library(pairs), likeness)


def _without_library(form: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without what Microsoft's library adds to any question for a token: scopes of people, and what it is able to."""
    if not any(name == "scope" and value.endswith(_SCOPES_OF_PEOPLE) for name, value in form):
        return list(form)
    return [(name, value.removesuffix(_SCOPES_OF_PEOPLE)) for name, value in form if name != "claims"]


def _same_text(recorded: str, ours: bytes, likeness: Likeness) -> bool:
    text = ours.decode(errors="replace")
    if likeness.texts(recorded.strip(), text.strip()):
        return True
    try:
        one, other = ElementTree.canonicalize(recorded), ElementTree.canonicalize(text)
    except ElementTree.ParseError:
        return False
    return one == other


def _shown(recorded: Recorded) -> str:
    query = "&".join(f"{key}={value}" for key, value in _pairs_of(recorded.get("query", {})))
    body = "" if _body_of(recorded) == "empty" else f" {_body_of(recorded)}"
    return f"{recorded['m']} {recorded.get('host', '')}{recorded['path']}{'?' if query else ''}{query}{body}"
