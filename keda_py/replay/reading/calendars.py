"""Calendars of manifests, with holidays of countries and of iCalendar files that stand among the manifests.

What cannot be read is a ConfigError that names field, value and remedy: a calendar without its holidays would be a
guess.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from keda_py.apis.environments.calendar import Calendar as WireCalendar
from keda_py.apis.environments.calendar import CalendarRef, CalendarSpec, HolidaySource, IcsSource
from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import Obj, text_at
from keda_py.apis.parsing import parse_object
from keda_py.calendars.countries import country_holidays
from keda_py.calendars.ics import read_ics
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.reading import Holidays, check_source, read_calendar
from keda_py.errors import ConfigError

AROUND = timedelta(days=40)
"""Days before and behind the period of which iCalendar files are read."""
Place = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendars:
    """Finds calendars among `objects`, for the period [begins, ends)."""

    objects: Mapping[Place, Obj]
    begins: datetime
    ends: datetime

    def of_environment(self, environment: Environment) -> Calendar:
        """Read the Environment's own hours, or the calendar that it names. Raises ConfigError."""
        spec, namespace = environment.spec, environment.metadata.namespace
        if spec.calendar_ref is not None:
            return self.find(namespace, spec.calendar_ref)
        if spec.calendar is None:
            raise ConfigError("spec: give one of calendarRef and calendar", field="spec")
        return self._build(namespace, spec.calendar, "spec.calendar")

    def find(self, namespace: str, reference: CalendarRef) -> Calendar:
        """Find the calendar of that name. Raises ConfigError."""
        kind = reference.kind or "Calendar"
        where = namespace if kind == "Calendar" else ""
        body = self.objects.get((kind, where, reference.name))
        if body is None:
            field = "spec.calendarRef"
            raise ConfigError(f"{field}: there is no {kind} {reference.name!r} here; add it, or correct the name")
        return self._build(where, parse_object(WireCalendar, body).spec, f"{kind} {reference.name}: spec")

    def _build(self, namespace: str, spec: CalendarSpec, field: str) -> Calendar:
        days = [
            self._days(namespace, spec, source, f"{field}.holidays[{number}]")
            for number, source in enumerate(spec.holidays)
        ]
        return read_calendar(spec, days, field=field)

    def _days(self, namespace: str, spec: CalendarSpec, source: HolidaySource, field: str) -> Holidays:
        check_source(source, field=field)
        if source.country:
            years = tuple(range(self.begins.year, self.ends.year + 2))
            return country_holidays(source.country, source.subdivision, years, field=field)
        if source.ics is None:
            return {}
        text, zone = self._file(namespace, source.ics, f"{field}.ics"), load_zone(spec.time_zone, field="timeZone")
        since, until = self._days_around()
        return read_ics(text, since, until, zone, field=f"{field}.ics")

    def _days_around(self) -> tuple[date, date]:
        return (self.begins - AROUND).date(), (self.ends + AROUND).date()

    def _file(self, namespace: str, ics: IcsSource, field: str) -> bytes:
        secret, reference = ics.secret_key_ref is not None, ics.secret_key_ref or ics.config_map_key_ref
        if reference is None:
            raise ConfigError(f"{field}: give one of configMapKeyRef and secretKeyRef", field=field)
        kind, where = "Secret" if secret else "ConfigMap", namespace or reference.namespace
        body = self.objects.get((kind, where, reference.name), {})
        plain = text_at(body, "stringData" if secret else "data", reference.key)
        encoded = text_at(body, "data" if secret else "binaryData", reference.key)
        if not plain and not encoded:
            text = f"{field}: {kind} {reference.name!r} with key {reference.key!r} is not here; add it to what is read"
            raise ConfigError(text, field=field)
        try:
            return plain.encode() if plain else base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise ConfigError(f"{field}: key {reference.key!r} is not base64; write it anew", field=field) from None
