"""A cluster's objects to preview, with the rights of the user who asks: lists, and the files that calendars name.

A kind that is not installed has no objects. One that may not be listed is told: without it the preview may be wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, value_at
from keda_py.core.defaults.bodies import OBJECTS, installation_body
from keda_py.core.environment.spec import owner_of
from keda_py.core.meaning.jobs import CRON_JOB
from keda_py.errors import ConfigError, Forbidden, KubeError, NotFound
from keda_py.kube.resources import (
    CALENDARS,
    CLUSTER_CALENDARS,
    CLUSTER_KEDA_DEFAULTS,
    CONFIG_MAPS,
    CRON_JOBS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    EVERYTHING,
    HORIZONTAL_POD_AUTOSCALERS,
    KEDA_DEFAULTS,
    NAMESPACES,
    OVERRIDES,
    SCALED_OBJECTS,
    SCALING_SCHEDULES,
    SECRETS,
    STATEFUL_SETS,
    Obj,
    ObjectPath,
    Resource,
    Selection,
)
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.reading.installation import OPERATORS, installed_defaults
from keda_py.replay.reading.manifests import ManifestSource, read_plans

DEFAULTS = (KEDA_DEFAULTS, CLUSTER_KEDA_DEFAULTS)
_RULING = (CALENDARS, CLUSTER_CALENDARS, ENVIRONMENTS, OVERRIDES, SCALING_SCHEDULES, *DEFAULTS)
_MEMBERS = (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS)
_CLUSTER_DEFAULTS = CLUSTER_KEDA_DEFAULTS.kind
_FILES = (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS))


class Lists(Protocol):
    """The part of `kube/client.py` that is asked."""

    async def list(self, resource: Resource, namespace: str = "", selection: Selection = EVERYTHING) -> list[Obj]:
        """List all objects that are selected. Raises KubeError."""
        ...

    async def get(self, path: ObjectPath) -> Obj:
        """Read one object. Raises KubeError."""
        ...


class ClusterReading:
    """`read` it once; `unread` then has a sentence for each kind that may not be listed.

    `hpas`: HPAs of members, too, which may go to zero by themselves. `defaults` are those of the installation; without
    them they are read from the operator's Deployment.
    """

    def __init__(
        self, client: Lists, namespace: str, *, hpas: bool = False, defaults: Mapping[str, Any] | None = None
    ) -> None:
        self._client, self._namespace, self._defaults = client, namespace, defaults
        self._members = (*_MEMBERS, HORIZONTAL_POD_AUTOSCALERS) if hpas else _MEMBERS
        self.unread: list[str] = []
        self.forbidden: list[Resource] = []

    async def read(self, one: Obj | None = None) -> list[ManifestSource]:
        """List what is to be previewed. Raises KubeError, for ScaledObjects also if they may not be listed.

        With `one`, an object with its kind, ScaledObjects that cannot be listed are left out but for that one.
        """
        found = await self._list(SCALED_OBJECTS) if one is not None else await self._scaled_objects()
        for resource in _RULING:
            found += await self._list(resource)
        found = await self._with_installation(found, told=one is None)
        if any(map(_wants_labels, found)):
            found += await self._namespaces()
        has_environments = any(body["kind"] == ENVIRONMENTS.kind for body in found)
        if one is not None and not any(_is_same(one, body) for body in found):
            found.append(one)
        if has_environments:
            for resource in self._members:
                found += await self._list(resource)
        for path in dict.fromkeys(path for body in found for path in files_of(body)):
            found += await self._file(path)
        return [ManifestSource(body=body) for body in found]

    async def _scaled_objects(self) -> list[Obj]:
        return with_kind(SCALED_OBJECTS, await self._client.list(SCALED_OBJECTS, self._namespace))

    async def _namespaces(self) -> list[Obj]:
        """Read the labels of the namespaces: ClusterKedaDefaults select by them, and `deleteAfter` needs one."""
        if not self._namespace:
            return await self._list(NAMESPACES)
        try:
            return with_kind(NAMESPACES, [await self._client.get(NAMESPACES.named("", self._namespace))])
        except (NotFound, Forbidden) as error:
            self.unread.append(
                f"labels of the namespace are not known, so ClusterKedaDefaults and deleteAfter are not told: {error}"
            )
            return []

    async def _with_installation(self, found: list[Obj], *, told: bool) -> list[Obj]:
        """Add the defaults of the installation, and leave out objects of defaults that its operator does not obey.

        With `told`, `unread` says if they are not known. Who asks about one object has its values from the operator.
        """
        if self._defaults is not None:
            return [*found, installation_body(self._defaults)]
        try:
            installed = installed_defaults(await self._client.list(DEPLOYMENTS, "", OPERATORS))
        except (NotFound, Forbidden, ConfigError) as error:
            if told:
                self.unread.append(f"the defaults of the installation are not known; give --default-values: {error}")
            return found
        if installed is None:
            return found
        kept = [body for body in found if installed.obeys_objects or body["kind"] not in OBJECTS]
        return [*kept, installation_body(installed.values)]

    async def _list(self, resource: Resource) -> list[Obj]:
        try:
            return with_kind(resource, await self._client.list(resource, self._namespace))
        except NotFound:
            return []
        except Forbidden as error:
            self.forbidden.append(resource)
            self.unread.append(f"{resource.plural} may not be listed, so what they rule is not told: {error}")
            return []

    async def _file(self, path: ObjectPath) -> list[Obj]:
        """Read a file of a calendar; a missing one becomes a problem of the calendar that needs it."""
        try:
            return with_kind(path.resource, [await self._client.get(path)])
        except (NotFound, Forbidden):
            return []


def _is_same(one: Obj, other: Obj) -> bool:
    return (one["kind"], name_of(one)) == (other["kind"], name_of(other))


def _wants_labels(body: Obj) -> bool:
    """Whether what an object does depends on labels of namespaces."""
    by_labels = body["kind"] == _CLUSTER_DEFAULTS and bool(value_at(body, "spec", "namespaceSelector"))
    return by_labels or (body["kind"] == ENVIRONMENTS.kind and bool(text_at(body, "spec", "deleteAfter")))


def with_kind(resource: Resource, bodies: Sequence[Obj]) -> list[Obj]:
    """Give objects their kind, which lists leave out, in the order of creation, as a file would have them."""
    ordered = sorted(bodies, key=lambda one: (text_at(one, "metadata", "creationTimestamp"), namespace_of(one)))
    return [{**one, "apiVersion": resource.api_version, "kind": resource.kind} for one in ordered]


def files_of(body: Obj) -> Iterator[ObjectPath]:
    """Name the ConfigMaps and Secrets with the iCalendar files of a calendar, or of an Environment's own hours."""
    spec = map_at(body, "spec")
    for source in (*maps_at(spec, "holidays"), *maps_at(spec, "calendar", "holidays")):
        for key, resource in _FILES:
            reference = map_at(source, "ics", key)
            name, where = text_at(reference, "name"), namespace_of(body) or text_at(reference, "namespace")
            if name and where:
                yield resource.named(where, name)


# What `keda-py validate` would warn of an Environment of a cluster: hours, waves, shared members, jobs that never run.
#
# The reading of a preview finds it: the same lists, the same rights, the same sentences.

AHEAD = timedelta(days=7)


async def warnings_of(client: Lists, namespace: str, name: str, now: datetime) -> list[str]:
    """Sentences, each with its code; one that says so where it cannot be judged."""
    reading = ClusterReading(client, namespace)
    try:
        sources = await reading.read()
    except KubeError as error:
        return [f"it cannot be judged as `keda-py validate` does: {error}"]
    return list(warnings_among(sources, namespace, name, now))


def warnings_among(sources: Sequence[ManifestSource], namespace: str, name: str, now: datetime) -> Iterator[str]:
    """The same of what was read: those of the Environment, and of the CronJobs that it has."""
    title = f"Environment {namespace}/{name}: "
    for plan in read_plans(sources, now, now + AHEAD):
        if plan.name == namespace:
            about = (title, *(f"{CRON_JOB} {namespace}/{job}: " for job in _jobs(plan, name)))
            yield from (warning.removeprefix(title) for warning in plan.warnings if warning.startswith(about))


def _jobs(plan: NamespacePlan, environment: str) -> Iterator[str]:
    specs = [one.spec for one in plan.environments]
    for member in plan.members:
        owner = owner_of(specs, member.labels, member.annotations) if member.kind == CRON_JOB else None
        if owner is not None and owner.name == environment:
            yield member.name
