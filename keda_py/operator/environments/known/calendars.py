"""Calendars with their holidays: of countries, looked up in a thread, and of iCalendar files, read by a worker process.

In: a Calendar, a ClusterCalendar or an Environment's own hours. Out: `core/environment/calendar`, or a ConfigError that
names field, value and remedy. A built calendar, or its error, is kept until its sources change, because each look of
each Override and Environment asks for it. A namespace builds one calendar at a time.
"""

import asyncio
import base64
import binascii
from dataclasses import dataclass

from keda_py.answers.fairness import TenantPlaces
from keda_py.apis.environments.calendar import Calendar as WireCalendar
from keda_py.apis.environments.calendar import CalendarRef, CalendarSpec, HolidaySource, IcsSource
from keda_py.apis.environments.environment import Environment, EnvironmentSpec
from keda_py.apis.foreign import name_of, text_at
from keda_py.calendars.countries import country_holidays
from keda_py.calendars.ics import MOST_BYTES
from keda_py.clock import Clock
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.reading import Holidays, check_source, read_calendar
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, KubeError, NotFound
from keda_py.kube.resources import CLUSTER_CALENDARS, ENVIRONMENTS, Obj
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.files import Files
from keda_py.operator.environments.known.manifest_cache import Parsed, given, kept


@dataclass(frozen=True, slots=True)
class _Built:
    """A calendar or its error, with the sources that it was built from."""

    source: tuple[object, ...]
    calendar: Calendar | ConfigError
    has_files: bool


@dataclass(frozen=True, slots=True)
class _File:
    """A file's object and its key there; `version` changes with the object. Empty for holidays without a file."""

    version: tuple[object, ...] = ()
    live: Obj | None = None
    key: str = ""
    is_secret: bool = False


class Calendars:
    """Finds and builds calendars; a ClusterCalendar's files are in `object_namespace` unless it names another."""

    def __init__(
        self, clock: Clock, caches: EnvironmentCaches, reader: ClusterReader, files: Files, object_namespace: str
    ) -> None:
        self._clock, self._caches, self._reader, self._files = clock, caches, reader, files
        self._object_namespace = object_namespace
        self._built: dict[ObjectKey, _Built] = {}
        self._calendars, self._environments = Parsed(WireCalendar), Parsed(Environment)
        self._turns = TenantPlaces()

    async def of_environment(self, namespace: str, name: str, spec: EnvironmentSpec) -> Calendar:
        """Build an Environment's calendar. Raises ConfigError, and KubeError for a file that cannot be read now."""
        if spec.calendar_ref is not None:
            return await self.find(namespace, spec.calendar_ref)
        if spec.calendar is None:
            raise ConfigError("spec: give one of calendarRef and calendar", field="spec")
        return await self._build(ObjectKey("Environment", namespace, name), spec.calendar, "spec.calendar")

    async def try_environment(self, written: Environment | None) -> tuple[Calendar | None, str]:
        """Return an Environment's calendar, or what is wrong with it; None stands for one that needs no calendar."""
        if written is None:
            return None, ""
        try:
            return await self.of_environment(written.metadata.namespace, written.metadata.name, written.spec), ""
        except (ConfigError, KubeError) as error:
            return None, str(error)

    async def find(self, namespace: str, reference: CalendarRef) -> Calendar:
        """Build the calendar that a reference names. Raises ConfigError and KubeError."""
        kind = reference.kind or WireCalendar.__name__
        is_cluster_wide = kind == CLUSTER_CALENDARS.kind
        informer = self._caches.cluster_calendars if is_cluster_wide else self._caches.calendars
        live = informer.get("" if is_cluster_wide else namespace, reference.name)
        if live is None:
            field = "spec.calendarRef"
            raise ConfigError(
                f"{field}: there is no {kind} {reference.name!r}; create it, or correct the name", field=field
            )
        return await self.of_live(live)

    async def of_live(self, live: Obj) -> Calendar:
        """Build a Calendar or ClusterCalendar. Raises ConfigError and KubeError."""
        key = ObjectKey.of(live["kind"], live)
        return await self._build(key, self._calendars.of(key, live).spec, "spec")

    def spec_of(self, live: Obj) -> EnvironmentSpec:
        """Parse an Environment as it is stored. Raises ConfigError."""
        return self._environments.of(ObjectKey.of(ENVIRONMENTS.kind, live), live).spec

    def has_files(self, namespace: str, name: str, spec: EnvironmentSpec) -> bool:
        """Whether an Environment's calendar reads files, which are not watched, or could not be built yet."""
        reference = spec.calendar_ref
        key = ObjectKey("Environment", namespace, name)
        if reference is not None:
            kind = reference.kind or WireCalendar.__name__
            key = ObjectKey(kind, "" if kind == CLUSTER_CALENDARS.kind else namespace, reference.name)
        built = self._built.get(key)
        return built is None or built.has_files

    def forget(self, key: ObjectKey) -> None:
        self._built.pop(key, None)
        self._calendars.forget(key)
        self._environments.forget(key)

    async def _build(self, key: ObjectKey, spec: CalendarSpec, field: str) -> Calendar:
        today = self._clock.now().date()
        files = await self._find_files(key, spec, f"{field}.holidays")
        has_files = any(one.ics for one in spec.holidays)
        found = (spec, today if has_files else today.year, *(one.version for one in files))
        if (known := self._known(key, found)) is None:
            async with self._turns.turn(key.namespace):
                # Another look may have built it while this one waited for its turn.
                if (known := self._known(key, found)) is None:
                    known = await self._build_anew(key.namespace, spec, files, field)
                    self._built[key] = _Built(found, known, has_files)
        return given(known)  # not what is kept now: `forget` may have dropped it while the turn ended

    def _known(self, key: ObjectKey, found: tuple[object, ...]) -> Calendar | ConfigError | None:
        built = self._built.get(key)
        return built.calendar if built is not None and built.source == found else None

    async def _build_anew(
        self, namespace: str, spec: CalendarSpec, files: list[_File], field: str
    ) -> Calendar | ConfigError:
        try:
            texts = _texts_of(files, f"{field}.holidays")
            days = [
                await self._days(namespace, spec.time_zone, source, text, f"{field}.holidays[{number}]")
                for number, (source, text) in enumerate(zip(spec.holidays, texts, strict=True))
            ]
            return read_calendar(spec, days, field=field)
        except ConfigError as error:
            return kept(error)

    async def _days(self, namespace: str, zone: str, source: HolidaySource, file: bytes, field: str) -> Holidays:
        today = self._clock.now().date()
        check_source(source, field=field)
        if source.country:
            years = (today.year, today.year + 1)
            return await asyncio.to_thread(country_holidays, source.country, source.subdivision, years, field=field)
        if source.ics is None:
            return {}
        return await self._files.holidays(namespace, file, today, zone, f"{field}.ics")

    async def _find_files(self, key: ObjectKey, spec: CalendarSpec, field: str) -> list[_File]:
        """One file for each source of holidays, empty for a source without a file; one named twice is read once."""
        found: dict[IcsSource | None, _File] = {None: _File()}
        for number, source in enumerate(spec.holidays):
            if source.ics is not None and source.ics not in found:
                found[source.ics] = await self._find_file(key, source.ics, f"{field}[{number}].ics")
        return [found[source.ics] for source in spec.holidays]

    async def _find_file(self, key: ObjectKey, ics: IcsSource, field: str) -> _File:
        is_secret = ics.secret_key_ref is not None
        reference = ics.secret_key_ref or ics.config_map_key_ref
        if reference is None:
            raise ConfigError(f"{field}: give one of configMapKeyRef and secretKeyRef", field=field)
        namespace = key.namespace
        if key.kind == CLUSTER_CALENDARS.kind:
            namespace = reference.namespace or self._object_namespace
        elif reference.namespace not in ("", namespace):
            text = f"{field}: namespace {reference.namespace!r} is another one; leave it out"
            raise ConfigError(text, field=field)
        what = "Secret" if is_secret else "ConfigMap"
        try:
            live = await self._reader.get("secrets" if is_secret else "configmaps", namespace, reference.name)
        except NotFound:
            raise ConfigError(f"{field}: there is no {what} {reference.name!r}; create it", field=field) from None
        meta = live["metadata"]
        return _File((meta["uid"], meta["resourceVersion"]), dict(live), reference.key, is_secret)


def _texts_of(files: list[_File], field: str) -> list[bytes]:
    """The contents of a calendar's files, empty for a source without one. Raises ConfigError, also above MOST_BYTES."""
    texts, left = [], MOST_BYTES
    for number, file in enumerate(files):
        texts.append(_text_of(file, f"{field}[{number}].ics"))
        left -= len(texts[-1])
        if left < 0:
            where = f"{field}[{number}].ics"
            text = f"this file and those before have more than {MOST_BYTES} bytes; leave out years that are over"
            raise ConfigError(f"{where}: {text}", field=where)
    return texts


def _text_of(file: _File, field: str) -> bytes:
    if file.live is None:
        return b""
    plain, encoded = text_at(file.live, "data", file.key), text_at(file.live, "binaryData", file.key)
    if not plain and not encoded:
        what = "Secret" if file.is_secret else "ConfigMap"
        text = f"{field}: {what} {name_of(file.live)!r} has no key {file.key!r}; add it, or correct the key"
        raise ConfigError(text, field=field)
    if not file.is_secret and plain:
        return plain.encode()
    try:
        return base64.b64decode(plain or encoded, validate=True)
    except binascii.Error:
        raise ConfigError(f"{field}: key {file.key!r} is not base64; write it anew", field=field) from None
