"""The annotations' windows on random times, against the library's rule written down anew; decisions that settle."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.environment.downscaler.decision import AnnotatedObject, DownscaleInputs, DownscalerSettings, decide
from keda_py.core.environment.downscaler.timespecs import SpecDefaults, matches
from keda_py.errors import ConfigError
from tests.properties import examples

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ZONES = ("UTC", "Europe/Prague", "America/New_York", "Asia/Seoul", "Asia/Kolkata", "Australia/Lord_Howe")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
times = st.integers(-(10**8), 10**8).map(lambda seconds: NOW + timedelta(seconds=seconds))
minutes = st.integers(0, 24 * 60)
days = st.integers(0, 6)
zones = st.sampled_from(ZONES)


def spec_of(first: int, last: int, start: int, end: int, zone: str) -> str:
    clock = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    return f"{DAYS[first]}-{DAYS[last]} {clock} {zone}"


def is_in(at: datetime, first: int, last: int, start: int, end: int, zone: str) -> bool:
    """As the library asks: the wall clock's weekday and minute, the end left out, days around the weekend or not."""
    local = at.astimezone(ZoneInfo(zone))
    day, minute = local.weekday(), 60 * local.hour + local.minute
    on_day = first <= day <= last if first <= last else day >= first or day <= last
    return on_day and start <= minute < end


def near(at: datetime, minute: int, seconds: int, zone: str) -> datetime:
    """About that minute of the wall clock's day: where windows begin and end."""
    local = at.astimezone(ZoneInfo(zone)).replace(hour=minute // 60 % 24, minute=minute % 60, second=0)
    return local.astimezone(UTC) + timedelta(seconds=seconds)


def found(spec: str, at: datetime) -> bool:
    return matches(spec, at, SpecDefaults(), field="f")


@examples(150)
@given(times, days, days, minutes, minutes, zones)
def test_a_window_within_a_day_is_open_when_the_library_says_so(
    at: datetime, first: int, last: int, one: int, other: int, zone: str
) -> None:
    start, end = sorted((one, other))
    for instant in (at, *(near(at, edge, seconds, zone) for edge in (start, end) for seconds in (-1, 0, 59, 60))):
        spec = spec_of(first, last, start, end, zone)
        assert found(spec, instant) is is_in(instant, first, last, start, end, zone), instant


@examples(150)
@given(times, days, st.integers(0, 5), minutes, minutes, zones)
def test_a_window_past_midnight_is_its_evening_and_the_morning_after(
    at: datetime, first: int, length: int, one: int, other: int, zone: str
) -> None:
    end, start = sorted((one, other))
    last = (first + length) % 7
    for instant in (at, *(near(at, edge, seconds, zone) for edge in (start, end) for seconds in (-1, 0, 59, 60))):
        evening = is_in(instant, first, last, start, 24 * 60, zone)
        morning = is_in(instant, (first + 1) % 7, (last + 1) % 7, 0, end, zone)
        expected = (evening or morning) if end < start else False
        assert found(spec_of(first, last, start, end, zone), instant) is expected, instant


@examples(100)
@given(times, times, times, st.sampled_from([-300, 0, 60, 330]))
def test_two_instants_are_a_window_with_both_its_ends(
    at: datetime, one: datetime, other: datetime, offset: int
) -> None:
    since, until = sorted(each.replace(microsecond=0) for each in (one, other))
    sign, hours, rest = "-" if offset < 0 else "+", abs(offset) // 60, abs(offset) % 60
    words = [
        f"{each + timedelta(minutes=offset):%Y-%m-%dT%H:%M:%S}{sign}{hours:02}:{rest:02}" for each in (since, until)
    ]
    spec = "-".join(words)
    assert found(spec, at) is (since <= at <= until)
    assert found(spec, since)
    assert found(spec, until)
    assert found(f"Mon-Fri 08:00-08:00 UTC, {spec}", at) is (since <= at <= until)


ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "downscaler/uptime": st.sampled_from(["always", "never", "Mon-Fri 08:00-18:00 UTC", "broken"]),
        "downscaler/downtime": st.sampled_from(["always", "never", "Fri-Fri 12:00-13:00 UTC"]),
        "downscaler/upscale-period": st.sampled_from(["never", "Fri-Fri 11:00-13:00 UTC"]),
        "downscaler/downscale-period": st.sampled_from(["never", "Fri-Fri 11:30-12:30 UTC"]),
        "downscaler/downtime-replicas": st.sampled_from(["0", "1", "3", "50%"]),
        "downscaler/original-replicas": st.sampled_from(["0", "1", "4", "x"]),
        "downscaler/exclude": st.sampled_from(["true", "false"]),
        "downscaler/grace-period": st.sampled_from(["1", "600"]),
    },
)
SPECS: dict[str, Any] = {
    "Deployment": st.fixed_dictionaries({"replicas": st.integers(0, 5)}),
    "CronJob": st.fixed_dictionaries({"suspend": st.booleans()}),
    "DaemonSet": st.fixed_dictionaries({"nodeSelector": st.sampled_from([{}, {"disk": "ssd"}])}),
    "PodDisruptionBudget": st.fixed_dictionaries({"minAvailable": st.sampled_from([0, 2, "50%"])}),
    "HorizontalPodAutoscaler": st.fixed_dictionaries({"minReplicas": st.integers(0, 5), "maxReplicas": st.just(9)}),
}
objects = st.sampled_from(sorted(SPECS)).flatmap(lambda kind: st.tuples(st.just(kind), SPECS[kind]))


def decided(kind: str, fields: Any, annotations: Any, at: datetime) -> Any:
    """The outcome, or None where an annotation cannot be read."""
    obj = AnnotatedObject(
        kind=kind, namespace="shop", name="web", created=NOW - timedelta(days=1), annotations=annotations, fields=fields
    )
    try:
        return decide(obj, DownscaleInputs(), DownscalerSettings(), at)
    except ConfigError:
        return None


@examples(400)
@given(objects, ANNOTATIONS)
def test_what_was_written_is_not_written_again(obj: tuple[str, Any], annotations: dict[str, str]) -> None:
    kind, fields = obj
    first = decided(kind, fields, annotations, NOW)
    if first is not None:
        second = decided(kind, first.fields, first.annotations, NOW)
        assert (second.changed, second.fields, second.annotations) == (False, first.fields, first.annotations)


@examples(200)
@given(objects, st.sampled_from(["0", "1"]))
def test_what_is_put_down_comes_back_as_it_was(obj: tuple[str, Any], night: str) -> None:
    kind, fields = obj
    annotations = {"downscaler/downtime": "Fri-Fri 12:00-13:00 UTC", "downscaler/downtime-replicas": night}
    asleep = decided(kind, fields, annotations, NOW)
    awake = decided(kind, asleep.fields, asleep.annotations, NOW + timedelta(hours=1))
    assert (awake.fields, awake.annotations) == (fields, annotations)
