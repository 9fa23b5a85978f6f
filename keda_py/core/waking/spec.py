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
        hold = parse_duration(wake.hold, DEFAULT_HOLD, field=f"{field}.hold")
        if not timedelta(seconds=1) <= hold <= LONGEST_HOLD:
            text = f"{field}.hold: {wake.hold!r} is not between 1s and 10m; write for example 2m"
            raise ConfigError(text, field=f"{field}.hold")
    ignored = NOTHING_IGNORED
    with mistakes.noted():
        ignored = _build_ignored(wake.ignore or IgnoredRequests(), f"{field}.ignore")
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


def _check_services(services: ServicesSelector | None, field: str) -> None:
    if services is None:
        return
    labelled = bool(services.match_labels or services.match_expressions)
    if bool(services.names) == labelled:
        remedy = "leave services out for every Service that selects a member"
        raise ConfigError(f"{field}: give names or labels, one of the two; {remedy}", field=field)


def _build_ignored(ignore: IgnoredRequests, field: str) -> Ignored:
    for number, path in enumerate(ignore.paths):
        if not path.startswith(("/", "*")) or "?" in path:
            where = f"{field}.paths[{number}]"
            told = path[:LONGEST_PATTERN]
            raise ConfigError(f"{where}: {told!r} is not a path; write for example /healthz or /status/*", field=where)
    if ignore.status not in (None, 200, 503):
        raise ConfigError(f"{field}.status: {ignore.status} is not 200 or 503; write one of them", field=field)
    _check_lengths(ignore.paths, f"{field}.paths")
    _check_lengths(ignore.user_agents, f"{field}.userAgents")
    return Ignored(paths=tuple(ignore.paths), user_agents=tuple(ignore.user_agents), status=ignore.status or 503)


def _check_lengths(patterns: Sequence[str], field: str) -> None:
    for number, pattern in enumerate(patterns):
        if len(pattern) > LONGEST_PATTERN:
            where = f"{field}[{number}]"
            told = f"{pattern[:40]!r}... has more than {LONGEST_PATTERN} characters; write a shorter pattern with *"
            raise ConfigError(f"{where}: {told}", field=where)
