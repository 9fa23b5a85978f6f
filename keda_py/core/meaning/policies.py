"""ClusterEnvironments among manifests -> the Environments that the operator would write from them.

For preview and validate. Namespaces are those of the manifests, and those that are named beside: of these the labels
are not known, so the oldest ClusterEnvironment is taken to select them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keda_py.apis.environments.cluster_environment import ClusterEnvironment
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, texts_at
from keda_py.apis.parsing import parse_manifest
from keda_py.core.environment.namespaces.coverage import (
    KIND,
    Coverage,
    NamespaceSeen,
    Write,
    body_of,
    plan_namespace,
)
from keda_py.core.environment.namespaces.spec import (
    ClusterEnvironmentSpec,
    build_cluster_environment,
    check_template,
    oldest_first,
)
from keda_py.core.values.selectors import LabelSelector
from keda_py.errors import ConfigError

_ANY_TIME = "1970-01-01T00:00:00Z"
Bodies = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Covered:
    """`environments` are to be written; `by` has the namespaces of each ClusterEnvironment, by its name; `why` the
    reason of each selected namespace that has another Environment.
    """

    environments: list[dict[str, Any]] = field(default_factory=list)
    by: dict[str, list[str]] = field(default_factory=dict)
    why: dict[str, list[str]] = field(default_factory=dict)
    unread: list[tuple[Mapping[str, Any], ConfigError]] = field(default_factory=list)


def cover(bodies: Bodies, named: Collection[str] = ()) -> Covered:
    """Find what the ClusterEnvironments among the bodies cover; a body without a namespace is in `default`."""
    found = Covered()
    policies = [body for body in bodies if body["kind"] == KIND]
    if not policies:
        return found
    specs = oldest_first(spec for body in policies if (spec := _read(body, found)) is not None)
    found.by = {spec.name: [] for spec in specs}
    found.why = {spec.name: [] for spec in specs}
    labels = {name_of(body): texts_at(body, "metadata", "labels") for body in bodies if body["kind"] == "Namespace"}
    for seen in _namespaces(bodies, labels, named):
        _cover_one(specs, seen, found, assumed=seen.name in named and seen.name not in labels)
    return found


def _read(body: Mapping[str, Any], found: Covered) -> ClusterEnvironmentSpec | None:
    try:
        written = parse_manifest(ClusterEnvironment, body)
        check_template(written)
        meta = written.metadata
        dated = {"creation_timestamp": meta.creation_timestamp or _ANY_TIME, "uid": meta.uid or f"of {meta.name}"}
        written = written.model_copy(update={"metadata": meta.model_copy(update=dated)})
        return build_cluster_environment(written, map_at(body, "spec", "template"))
    except ConfigError as error:
        found.unread.append((body, error))
        return None


def _namespaces(
    bodies: Bodies, labels: Mapping[str, Mapping[str, str]], named: Collection[str]
) -> Iterator[NamespaceSeen]:
    environments: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for body in bodies:
        if body["kind"] == "Environment":
            environments[namespace_of(body)].append(body)
    places = {namespace_of(body) for body in bodies if body["kind"] not in _OF_THE_CLUSTER and namespace_of(body)}
    for name in sorted({*labels, *places, *named}):
        yield NamespaceSeen(name=name, labels=labels.get(name, {}), environments=environments[name])


_OF_THE_CLUSTER = (KIND, "ClusterCalendar", "Namespace", "ClusterKedaDefaults", "ClusterTriggerAuthentication")


def _cover_one(specs: Iterable[ClusterEnvironmentSpec], seen: NamespaceSeen, found: Covered, *, assumed: bool) -> None:
    older: list[ClusterEnvironmentSpec] = []
    for written in specs:
        spec = replace(written, selector=LabelSelector(), exclude=None) if assumed else written
        plan = plan_namespace(spec, older, seen)
        older.append(spec)
        if plan.coverage is Coverage.COVERED:
            found.by[spec.name].append(seen.name)
        elif plan.coverage is not Coverage.NOT_SELECTED:
            found.why[spec.name].append(f"{seen.name} ({_REASONS[plan.coverage].format(plan.other)})")
        if plan.write is Write.CREATE:
            body = body_of(spec, seen.name)
            body["metadata"] |= {"creationTimestamp": _created(spec), "uid": f"{spec.uid} in {seen.name}"}
            found.environments.append(body)


def _created(spec: ClusterEnvironmentSpec) -> str:
    return spec.created.strftime("%Y-%m-%dT%H:%M:%SZ")


_REASONS = {
    Coverage.PROTECTED: "never covered",
    Coverage.TERMINATING: "is being deleted",
    Coverage.OLDER: "the older {} covers it",
    Coverage.OWN: "its own Environment {} is in force",
    Coverage.LEAVING: "Environment {} of another one is in force",
}


def describe_coverage(name: str, found: Covered) -> Iterator[str]:
    """Say which namespaces a ClusterEnvironment covers here, and why not others that it selects."""
    covered = found.by.get(name, [])
    if covered:
        yield f"covers {_listed(covered)}"
    else:
        yield "covers no namespace that is known here: add manifests of Namespaces with their labels, or --namespaces"
    if others := found.why.get(name):
        yield f"selects also {_listed(others)}"


def describe_hours(template: Mapping[str, Any]) -> str:
    """Write the hours of a template as they are written: `Mon-Fri 08:00-18:00, Europe/Prague`."""
    reference, calendar = map_at(template, "calendarRef"), map_at(template, "calendar")
    if reference:
        return f"hours of {text_at(reference, 'kind') or 'Calendar'} {text_at(reference, 'name')}"
    hours = [one for one in calendar.get("hours") or () if isinstance(one, Mapping)]
    spans = [f"{text_at(one, 'days')} {text_at(one, 'from')}-{text_at(one, 'to')}".strip() for one in hours]
    return f"awake {'; '.join(spans) or 'never'}, {text_at(calendar, 'timeZone') or 'UTC'}"


def _listed(names: Sequence[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
