"""State of the page, one JSON value: environments, objects, the day before and the three days to come. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, namespace_of, text_at
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.decision.report import STILL_UP
from keda_py.core.environment.namespaces.coverage import OWNER_LABEL
from keda_py.core.environment.overrides import request_of
from keda_py.core.environment.spec import EnvironmentSpec, build_environment
from keda_py.core.values.times import write_time
from keda_py.dashboard.forecast import AHEAD, Forecasts, Place
from keda_py.dashboard.past import BEHIND, past_of_environment, past_of_object
from keda_py.environments.further_kinds import Key
from keda_py.environments.members import in_order
from keda_py.environments.overview import fields_of_policy, said_of_policy
from keda_py.environments.words import wake_by_request, wrong_of
from keda_py.errors import ConfigError
from keda_py.explanation.overview import line_of
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.decisions.history import read_history
from keda_py.replay.previews import Subject
from keda_py.terminal.times import Times

MOST_SPANS = 60
MOST_MOVES = 8
MOST_PROBLEMS, LONGEST_PROBLEM = 5, 300

Fields = Mapping[str, Any]


# Environments as the page shows them: problems in their conditions, and their members. Pure.
#
# The words are those of `keda-py env`.


MOST_MEMBERS = 100
LONGEST_COMPLAINT = 500
MOST_NAMESPACES = 500
"""Namespaces of a ClusterEnvironment that are listed."""


class EnvironmentDetails:
    """Details of Environments, from these and their possible members, all given with their kind."""

    def __init__(self, environments: Iterable[Fields], candidates: Iterable[Fields]) -> None:
        self._lives: defaultdict[str, dict[Key, Obj]] = defaultdict(dict)
        for live in candidates:
            self._lives[namespace_of(live)][text_at(live, "kind"), name_of(live)] = dict(live)
        self._read = {(namespace_of(live), name_of(live)): _read(live) for live in environments}
        self._specs: defaultdict[str, list[EnvironmentSpec]] = defaultdict(list)
        for read in self._read.values():
            if read is not None:
                self._specs[read[1].namespace].append(read[1])

    def of(self, live: Fields) -> Fields:
        """Return the problems and members of one Environment; an unreadable one has no members."""
        read = self._read.get((namespace_of(live), name_of(live)))
        if read is None:
            wrong = ["its spec cannot be read; keda-py validate says why"]
            return {"wrong": wrong, "members": [], "moreMembers": 0, "requests": ""}
        environment, spec = read
        found = in_order(environment, spec, self._specs[spec.namespace], self._lives[spec.namespace])
        members = [
            {"member": one.key, "wave": one.wave, "state": one.state, "replicas": one.replicas, "why": one.why}
            for one in islice(found, MOST_MEMBERS)
        ]
        wrong = [complaint[:LONGEST_COMPLAINT] for complaint in wrong_of(environment.status)]
        requests = wake_by_request(environment)
        return {"wrong": wrong, "members": members, "moreMembers": len(found) - len(members), "requests": requests}


def _read(live: Fields) -> tuple[Environment, EnvironmentSpec] | None:
    try:
        environment = parse_object(Environment, dict(live))
        return environment, build_environment(environment)
    except ConfigError:
        return None


def state_of(
    objects: Iterable[Fields],
    environments: Iterable[Fields],
    overrides: Iterable[Fields],
    forecasts: Forecasts,
    now: datetime,
    workloads: Iterable[Fields] = (),
) -> Fields:
    """Build the state, sorted, with times in UTC; `workloads` are further possible members of Environments."""
    objects, environments = sorted(objects, key=_place), sorted(environments, key=_place)
    scaled = [obj for obj in objects if text_at(obj, "kind") != SCALED_JOBS.kind]
    details = EnvironmentDetails(environments, [*scaled, *workloads])
    return {
        "now": write_time(now),
        "environments": [{**_environment(one, forecasts, now), **details.of(one)} for one in environments],
        "overrides": [_override(override) for override in sorted(overrides, key=_place)],
        "objects": [_object(obj, forecasts, now) for obj in objects],
        "unforeseen": [problem[:LONGEST_PROBLEM] for problem in islice(forecasts.problems, MOST_PROBLEMS)],
    }


def _place(live: Fields) -> tuple[str, str]:
    return namespace_of(live), name_of(live)


def _object(live: Fields, forecasts: Forecasts, now: datetime) -> Fields:
    recent = write_time(now - BEHIND)
    changes = read_history(map_at(live, "status"))
    before = [change for change in changes if change["time"] < recent][-1:]  # what held when the day began
    line = line_of(live, Times(now=now)).fields()
    place = (str(line["kind"]), *_place(live))
    return {
        **line,
        "replicas": _replicas(changes),
        "changes": [*before, *(change for change in changes if change["time"] >= recent)],
        "past": past_of_object(live, changes, now),
        **_forecast_fields(place, forecasts, now),
    }


def _replicas(changes: Iterable[Fields]) -> int | None:
    counts = [map_at(change, "replicas").get("after") for change in changes]
    return counts[-1] if counts else None


def _forecast_fields(place: Place, forecasts: Forecasts, now: datetime) -> Fields:
    """Return what schedules will do; "foreseen" is false if that is unknown, or not computed yet."""
    subject = forecasts.find(place)
    if subject is None:
        return {
            "foreseen": False,
            "planned": [],
            "upcoming": [],
            "windows": [],
            "findings": [],
            "assumes": [],
            "defaults": [],
        }
    return {
        "foreseen": True,
        "planned": list(_planned(subject, now))[:MOST_SPANS],
        "upcoming": list(_upcoming(subject, now))[:MOST_MOVES],
        "windows": list(subject.notes),
        "findings": [finding.message for finding in subject.findings],
        "defaults": list(subject.remarks),
        "assumes": list(subject.timeline.assumes),
    }


def _planned(subject: Subject, now: datetime) -> Iterator[Fields]:
    """Yield the spans in which it will be up, from now on."""
    for span in subject.timeline.spans():
        begin, end = max(span.start, now), min(span.end, now + AHEAD)
        if span.replicas and begin < end:
            yield {"from": write_time(begin), "to": write_time(end), "replicas": span.replicas}


def _upcoming(subject: Subject, now: datetime) -> Iterator[Fields]:
    """Yield each future change of the count, and its reason."""
    for step in subject.timeline.moves:
        if now < step.at < now + AHEAD:
            yield {"at": write_time(step.at), "before": step.before, "after": step.replicas, "because": step.because}


def _environment(live: Fields, forecasts: Forecasts, now: datetime) -> Fields:
    status = map_at(live, "status")
    fields = ("phase", "phaseSince", "ready", "up")
    change = map_at(status, "nextChange")
    return {
        "namespace": namespace_of(live),
        "name": name_of(live),
        **{field: text_at(status, field) for field in fields},
        "because": "; ".join(filter(None, (text_at(status, "because"), _still_up(status)))),
        "next": {field: text_at(change, field) for field in ("to", "at")},
        "override": text_at(status, "override", "summary"),
        "past": past_of_environment(live, now),
        **_forecast_fields(("Environment", *_place(live)), forecasts, now),
    }


def policies_of(policies: Iterable[Fields], environments: Sequence[Fields]) -> list[Fields]:
    """Return ClusterEnvironments as the page shows them, with their namespaces among those of the Environments."""
    return [_policy(one, environments) for one in sorted(policies, key=_place)]


def _policy(live: Fields, environments: Sequence[Fields]) -> Fields:
    """Return the sums of a ClusterEnvironment, what is wrong, and the namespaces that it has, by what they do."""
    mine = [one for one in environments if text_at(one, "metadata", "labels", OWNER_LABEL) == name_of(live)]
    known = fields_of_policy(dict(live))
    troubles = {text_at(one, "namespace"): text_at(one, "message") for one in maps_at(live, "status", "needsPerson")}
    return {
        "name": name_of(live),
        "counts": known["namespaces"],
        "wrong": [text[:LONGEST_COMPLAINT] for text in said_of_policy(dict(live))],
        "namespaces": [
            {
                "namespace": namespace_of(one),
                "phase": text_at(one, "status", "phase"),
                "why": troubles.get(namespace_of(one)) or text_at(one, "status", "because"),
            }
            for one in mine[:MOST_NAMESPACES]
        ],
        "moreNamespaces": max(len(mine) - MOST_NAMESPACES, 0),
    }


def _still_up(status: Mapping[str, Any]) -> str:
    """Return the condition's message about members that are still up; "" while its waves are falling asleep."""
    asleep = [condition for condition in maps_at(status, "conditions") if condition.get("type") == "Asleep"]
    sentences = [text_at(one, "message") for one in asleep if one.get("reason") == STILL_UP]
    return "" if map_at(status, "transition") else "".join(sentences[:1])


def _request_of(live: Fields) -> str:
    try:
        return request_of(parse_object(Override, dict(live)))
    except ConfigError:
        return ""


def _override(live: Fields) -> Fields:
    spec, status = map_at(live, "spec"), map_at(live, "status")
    request = _request_of(live)
    return {
        "namespace": namespace_of(live),
        "name": name_of(live),
        "kind": text_at(spec, "target", "kind"),
        "target": text_at(spec, "target", "name"),
        "state": text_at(spec, "state"),
        "reason": f"woken by a request to {request}" if request else text_at(spec, "reason"),
        "by": "" if request else text_at(status, "requestedBy"),
        "phase": text_at(status, "phase"),
        "ends": text_at(status, "ends"),
        "conditions": len(list_at(status, "conditions")),
    }
