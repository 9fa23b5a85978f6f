"""Forecasts of all that is shown, made as `keda-py preview` makes them, and kept until their manifests change.

In: manifests by namespace. Out: a `Subject` an object: its counts, and why they change. Making them takes seconds in
a large cluster: it is done in a thread, only for namespaces that changed, and once an hour for each. Members that no
ScaledObject scales are left out: they are up at once, and change nothing for the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import orjson

from keda_py.apis.foreign import Obj, map_at, name_of, namespace_of, texts_at, value_at
from keda_py.replay.previews import Subject, preview
from keda_py.replay.reading.manifests import ManifestSource, read_plans

AHEAD = timedelta(days=3)
LASTS = timedelta(hours=1)
Place = tuple[str, str, str]
"""(kind, namespace, name)."""
Manifests = Mapping[str, Sequence[Obj]]
"""Namespace -> manifests with their kind; "" for those without a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast of one namespace; `subjects` reach `AHEAD` beyond `until`."""

    made_of: bytes
    until: datetime
    subjects: Mapping[Place, Subject]
    problems: tuple[str, ...] = ()


class Forecasts:
    """Immutable forecasts of all namespaces; `renewed` returns the next ones."""

    def __init__(self, known: Mapping[str, Forecast] | None = None) -> None:
        self._known = dict(known or {})

    def renewed(self, manifests: Manifests, now: datetime) -> "Forecasts":
        """Make outdated forecasts anew; returns itself if none is. Takes long: not for the loop."""
        shared = list(manifests.get("", ()))
        found = {}
        for namespace, bodies in manifests.items():
            if namespace:
                found[namespace] = self._of(namespace, [*shared, *bodies], now)
        return self if found == self._known else Forecasts(found)

    def _of(self, namespace: str, bodies: Sequence[Obj], now: datetime) -> Forecast:
        made_of, known = _digest(bodies), self._known.get(namespace)
        # The time counts too: a forecast of equal manifests is outdated once `until` has passed.
        if known is not None and known.made_of == made_of and now < known.until:
            return known
        try:
            return _make(made_of, bodies, now)
        except Exception as error:  # noqa: BLE001 - what one tenant wrote must not end the page of all
            problem = f"namespace {namespace}: cannot be foreseen: {type(error).__name__}"
            return Forecast(made_of=made_of, until=now + LASTS, subjects={}, problems=(problem,))

    def find(self, place: Place) -> Subject | None:
        """Find the forecast of an object; None if it is unknown, or not made yet."""
        forecast = self._known.get(place[1])
        return forecast.subjects.get(place) if forecast is not None else None

    @property
    def problems(self) -> Iterable[str]:
        """List what could not be forecast, and why."""
        return (problem for forecast in self._known.values() for problem in forecast.problems)


def _make(made_of: bytes, bodies: Sequence[Obj], now: datetime) -> Forecast:
    until = now + LASTS
    plans = read_plans([ManifestSource(body=body) for body in bodies], now, until + AHEAD)
    found = preview(plans, now, until + AHEAD)
    subjects = {subject.key: subject for subject in found.subjects}
    return Forecast(made_of=made_of, until=until, subjects=subjects, problems=found.problems)


def _digest(bodies: Iterable[Obj]) -> bytes:
    """Hash the parts that a preview reads: a status that only reports does not change the forecast."""
    digest = sha256()
    for body in bodies:
        kept = [
            body["kind"],
            namespace_of(body),
            name_of(body),
            texts_at(body, "metadata", "labels"),
            texts_at(body, "metadata", "annotations"),
            value_at(body, "metadata", "deletionTimestamp"),
            map_at(body, "spec"),
            map_at(body, "data"),
            map_at(body, "status") if body["kind"] == "Override" else value_at(body, "status", "wakes"),
        ]
        digest.update(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS))
    return digest.digest()
