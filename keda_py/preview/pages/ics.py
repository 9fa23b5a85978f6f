"""A preview as an iCalendar file: an event for each time that something is up, for the calendar of a team. Pure.

Events have the same UID in each file of the same manifests, so that a calendar that reads them again has them once.
What is up all the time, or never, has none.
"""

from icalendar import Calendar, Event

from keda_py.core.values.times import write_time
from keda_py.replay.previews import Preview, Subject
from keda_py.replay.timeline import Span
from keda_py.terminal.foreign import printable

_WORDS = {"Environment": "awake", "CronJob": "resumed"}


def ics_of(preview: Preview) -> bytes:
    """Write the file; DTSTAMP is the beginning of the period, so that the same preview gives the same bytes."""
    calendar = Calendar()
    calendar.add("prodid", "-//keda-py//preview//EN")
    calendar.add("version", "2.0")
    for subject in preview.subjects:
        for opening in _openings(subject):
            if (opening[0].start, opening[-1].end) != (preview.begins, preview.ends):
                calendar.add_component(_event(subject, opening, preview))
    found: bytes = calendar.to_ical()
    return found


def _openings(subject: Subject) -> list[list[Span]]:
    """Join spans with replicas that touch."""
    found: list[list[Span]] = []
    for span in subject.timeline.spans():
        if span.replicas and found and found[-1][-1].end == span.start:
            found[-1].append(span)
        elif span.replicas:
            found.append([span])
    return found


def _event(subject: Subject, opening: list[Span], preview: Preview) -> Event:
    start = opening[0].start
    most = max(span.replicas for span in opening)
    what = _WORDS.get(subject.kind, f"{most} replica{'' if most == 1 else 's'}")
    because = [step.because for step in subject.timeline.steps if step.at == start]
    event = Event()
    event.add("uid", f"{subject.kind}.{subject.namespace}.{subject.name}.{write_time(start)}@keda-py".lower())
    event.add("summary", printable(f"{subject.title}: {what}"))
    event.add("dtstart", start)
    event.add("dtend", opening[-1].end)
    event.add("dtstamp", preview.begins)
    event.add("transp", "TRANSPARENT")
    if because:
        event.add("description", printable(because[0]))
    return event
