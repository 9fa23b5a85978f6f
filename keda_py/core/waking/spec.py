"""`spec.wakeOnRequest` -> WakeSpec: defaults applied, durations and selectors read, patterns checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from keda_py.apis.environments.waking import IgnoredRequests, ServicesSelector, WakeOnRequest
from keda_py.apis.job_spec import LabelSelector as WireSelector
from keda_py.core.values.durations import parse_duration
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.core.waking.rules import NOTHING_IGNORED, Ignored, Page
from keda_py.errors import ConfigError

DEFAULT_FOR, DEFAULT_HOLD = timedelta(hours=1), timedelta(minutes=2)
SHORTEST_FOR, LONGEST_HOLD = timedelta(minutes=1), timedelta(minutes=10)
"""A shorter stay would let members sleep again while the last wave still wakes; a longer hold than ten minutes outlives
the time-outs of all common clients and load balancers, and holds sockets for nothing."""
LONGEST_PATTERN = 200
_FIELD = "spec.wakeOnRequest"


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeSpec:
    """Requests that wake. Without names and selector every Service that selects a member is covered."""

    names: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    stay: timedelta = DEFAULT_FOR
    hold: timedelta = DEFAULT_HOLD
    ignored: Ignored = NOTHING_IGNORED
    page: Page = Page.AUTO
    require_waker: bool = False

    def asks_for(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the object names this Service, or its labels; True without either."""
        if self.names:
            return name in self.names
        return self.selector is None or self.selector.matches({"metadata": {"labels": labels}})


def build_wake_spec(wake: WakeOnRequest, field: str = _FIELD) -> WakeSpec:
    """Build the spec with its defaults. Raises ConfigError naming field, value and remedy."""
    mistakes = Mistakes()
    services = wake.services or ServicesSelector()
    with mistakes.noted():
        _check_services(wake.services, f"{field}.services")
    with mistakes.noted():
        stay = parse_duration(wake.for_, DEFAULT_FOR, field=f"{field}.for")
        if stay < SHORTEST_FOR:
            raise ConfigError(f"{field}.for: {wake.for_!r} is too short; write 1m or more", field=f"{field}.for")
    with mistakes.noted():
        hold = read_hold(wake.hold, f"{field}.hold")
    ignored, chosen_ones = NOTHING_IGNORED, wake.ignore or IgnoredRequests()
    with mistakes.noted():
        read = Ignored(
            paths=tuple(chosen_ones.paths),
            user_agents=tuple(chosen_ones.user_agents),
            status=chosen_ones.status or 503,
        )
        ignored = check_ignored(read, f"{field}.ignore")
    selector = None
    with mistakes.noted():
        labels = WireSelector(match_labels=services.match_labels, match_expressions=services.match_expressions)
        chosen = labels if services.match_labels or services.match_expressions else None
        selector = build_selector(chosen, f"{field}.services")
    mistakes.refuse()
    return WakeSpec(
        names=tuple(services.names),
        selector=selector,
        stay=stay,
        hold=hold,
        ignored=ignored,
        page=Page(wake.page or Page.AUTO),
        require_waker=wake.require_waker,
    )


def read_hold(text: str, field: str) -> timedelta:
    """Read how long a request waits. Raises ConfigError."""
    hold = parse_duration(text, DEFAULT_HOLD, field=field)
    if not timedelta(seconds=1) <= hold <= LONGEST_HOLD:
        raise ConfigError(f"{field}: {text!r} is not between 1s and 10m; write for example 2m", field=field)
    return hold


def _check_services(services: ServicesSelector | None, field: str) -> None:
    if services is None:
        return
    labelled = bool(services.match_labels or services.match_expressions)
    if bool(services.names) == labelled:
        remedy = "leave services out for every Service that selects a member"
        raise ConfigError(f"{field}: give names or labels, one of the two; {remedy}", field=field)


def check_ignored(ignored: Ignored, field: str) -> Ignored:
    """Return what is ignored as it is. Raises ConfigError for a path, status or length that is refused."""
    for number, path in enumerate(ignored.paths):
        if not path.startswith(("/", "*")) or "?" in path:
            where = f"{field}.paths[{number}]"
            told = path[:LONGEST_PATTERN]
            raise ConfigError(f"{where}: {told!r} is not a path; write for example /healthz or /status/*", field=where)
    if ignored.status not in (200, 503):
        raise ConfigError(f"{field}.status: {ignored.status} is not 200 or 503; write one of them", field=field)
    _check_lengths(ignored.paths, f"{field}.paths")
    _check_lengths(ignored.user_agents, f"{field}.userAgents")
    return ignored


def _check_lengths(patterns: Sequence[str], field: str) -> None:
    for number, pattern in enumerate(patterns):
        if len(pattern) > LONGEST_PATTERN:
            where = f"{field}[{number}]"
            told = f"{pattern[:40]!r}... has more than {LONGEST_PATTERN} characters; write a shorter pattern with *"
            raise ConfigError(f"{where}: {told}", field=where)
