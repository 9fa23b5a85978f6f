"""Comparison of texts and JSON values with recordings, which may have <now-60s|unix> in place of a time."""

import base64
import re  # noqa: TID251 - constant patterns over our own recordings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

_ANY = "EndTime|iat|session name|server timeout|channel|expiry|signature|date|graphql|timeout|present|start"
_PLACEHOLDER = re.compile(rf"<((?:now|{_ANY})(?:[^<>\w][^<>]*)?)>")
_NOW = re.compile(r"now(?:([+-]\d+)([sm]))?(?: truncated to (\d+)s)?(?:(?:\||, )(.*))?")
_BARE = re.compile(r":\s*(<[^<>]*>)")
_TOLERANCE = 15.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """`now` are the moments that count: of the clock of decisions, and of the machine for what others must believe."""

    now: Sequence[datetime]

    def values(self, recorded: Any, ours: Any) -> bool:
        """JSON; numbers by value, True is no 1."""
        match recorded:
            case Mapping():
                return (
                    isinstance(ours, Mapping)
                    and recorded.keys() == ours.keys()
                    and all(self.values(value, ours[key]) for key, value in recorded.items())
                )
            case str():
                return self.texts(recorded, _text(ours)) if isinstance(ours, str) or "<" in recorded else False
            case Sequence():
                return (
                    isinstance(ours, Sequence)
                    and not isinstance(ours, str | bytes)
                    and len(recorded) == len(ours)
                    and all(self.values(one, other) for one, other in zip(recorded, ours, strict=True))
                )
        return isinstance(recorded, bool) == isinstance(ours, bool) and bool(recorded == ours)

    def texts(self, recorded: str, ours: str) -> bool:
        """Word for word, but for placeholders."""
        if "<jwt " in recorded:
            return self._tokens(recorded, ours)
        parts = _PLACEHOLDER.split(recorded)
        if len(parts) == 1:
            return recorded == ours
        pattern = "".join("(.+?)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
        found = re.fullmatch(pattern, ours, re.DOTALL)
        return found is not None and all(map(self._stands_for, parts[1::2], found.groups()))

    def _stands_for(self, placeholder: str, ours: str) -> bool:
        wanted = _NOW.fullmatch(placeholder)
        if wanted is None:
            return True
        number, unit, truncated, form = wanted.groups()
        offset = timedelta(**{{"s": "seconds", "m": "minutes"}[unit or "s"]: int(number or 0)})
        got = _moment(ours, form or "")
        # What is cut to minutes may be almost one too early.
        tolerance = _TOLERANCE + max(60.0 if "mm:00" in (form or "") else 0.0, float(truncated or 0))
        return got is not None and any(abs((got - now - offset).total_seconds()) <= tolerance for now in self.now)

    def _tokens(self, recorded: str, ours: str) -> bool:
        """JWTs by header and claims; the signature is of a key of ours."""
        before, _, rest = recorded.partition("<jwt ")
        shown = ours.removeprefix(before).split(".")
        if not ours.startswith(before) or len(shown) != 3:
            return False
        texts = _BARE.sub(r': "\1"', rest.removesuffix(">")).partition("} {")
        expected = [orjson.loads(texts[0] + "}"), orjson.loads("{" + texts[2])]
        got = [orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in shown[:2]]
        return all(map(self.values, expected, got))


def _text(ours: Any) -> str:
    return str(ours.timestamp()) if isinstance(ours, datetime) else str(ours)


def _moment(text: str, form: str) -> datetime | None:
    try:
        if form.startswith("unix"):
            return datetime.fromtimestamp(float(text) / (1000 if form == "unixms" else 1), UTC)
        got = datetime.fromisoformat(text)
    except ValueError:
        return None
    return got if got.tzinfo else got.replace(tzinfo=UTC)
