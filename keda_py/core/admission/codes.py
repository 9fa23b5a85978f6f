"""The codes of warnings, and the annotation that switches them off. CHECKS.md has a row for each."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from keda_py.core.admission.findings import AdmissionWarning, Denial

F = TypeVar("F", bound=AdmissionWarning | Denial)

IGNORE = "keda-py.dev/ignore"
"""Annotation with codes to switch off, separated by commas."""
MOST_IGNORED = 100

OVER_WEEKEND = "window-over-weekend"
DAYS_CLOSED = "window-days-closed"
SWAPPED = "window-swapped"
NEVER_OPENS = "window-never-opens"
ALWAYS_OPEN = "window-always-open"
EVERY_MINUTE = "every-minute"
SUMMER_TIME = "summer-time-gap"
ZONE_SIGN = "zone-sign"
OVERLAP = "windows-overlap"
COOLDOWN = "cooldown-outlasts-gap"
ABOVE_MAX = "replicas-above-max"
NEVER_SLEEPS = "never-sleeps"
CANNOT_WAKE = "cannot-wake"
UNKNOWN_ANNOTATION = "unknown-annotation"
ANNOTATION_VALUE = "annotation-value"
NO_TARGET = "no-target"
JOB_NEVER_RUNS = "job-never-runs"
HOURS_SWAPPED = "hours-swapped"
OVERRIDE_ENDLESS = "override-endless"
NO_CALENDAR = "no-calendar"
WAVE_EMPTY = "wave-empty"
MEMBERS_SHARED = "members-shared"
NOT_WOKEN = "service-not-woken"
NEVER_COVERED = "never-covered"
BEYOND_BOUNDS = "beyond-bounds"
CHANGES_NOTHING = "changes-nothing"

MEANING = frozenset(
    (
        *(OVER_WEEKEND, DAYS_CLOSED, SWAPPED, NEVER_OPENS, ALWAYS_OPEN, EVERY_MINUTE, SUMMER_TIME, ZONE_SIGN, OVERLAP),
        *(COOLDOWN, ABOVE_MAX, NEVER_SLEEPS, CANNOT_WAKE, UNKNOWN_ANNOTATION, ANNOTATION_VALUE, NO_TARGET),
        *(JOB_NEVER_RUNS, HOURS_SWAPPED, OVERRIDE_ENDLESS, NO_CALENDAR, WAVE_EMPTY, MEMBERS_SHARED, NOT_WOKEN),
        *(NEVER_COVERED, BEYOND_BOUNDS, CHANGES_NOTHING),
    )
)
"""Codes of `core/meaning/`: admission shows the code behind the text. Older warnings keep their text without a code."""

UNKNOWN_FIELD = "unknown-field"
UNKNOWN_KEY = "unknown-key"
INTERVAL_UNUSED = "interval-unused"
TARGET_ELSEWHERE = "target-elsewhere"
ACTIVATION_TARGET = "activation-target"
EVENT_DESTINATION = "event-destination"
MISSING_KEY = "missing-secret-key"
WRITTEN_REPLICAS = "written-replicas"
KUBERNETES_VERSION = "kubernetes-version"
DEPRECATED = "deprecated"

CODES = MEANING | {
    *(UNKNOWN_FIELD, UNKNOWN_KEY, INTERVAL_UNUSED, TARGET_ELSEWHERE, ACTIVATION_TARGET, EVENT_DESTINATION),
    *(MISSING_KEY, WRITTEN_REPLICAS, KUBERNETES_VERSION, DEPRECATED),
}


def ignored_codes(annotations: Mapping[str, object]) -> frozenset[str]:
    """Return the codes that the object's annotation switches off; an unknown code has no effect."""
    written = annotations.get(IGNORE)
    return read_codes(written) if isinstance(written, str) else frozenset()


def read_codes(text: str) -> frozenset[str]:
    """Split codes that are separated by commas."""
    return frozenset(code.strip() for code in text.split(",", MOST_IGNORED)[:MOST_IGNORED])


def without_ignored(findings: Iterable[F], codes: Collection[str]) -> Iterator[F]:
    """Filter out findings that are switched off; one without a code cannot be."""
    return (finding for finding in findings if not (finding.code and finding.code in codes))
