"""The neighbours of an Environment or an Override for admission: bounded, and trimmed to what a check reads.

The first Environment of a cluster is judged before CronJobs are watched: they are listed for it, once.
"""

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any

import orjson

from keda_py.apis.foreign import map_at, name_of, text_at, texts_at, value_at
from keda_py.core.admission.codes import IGNORE
from keda_py.core.environment.spec import EnvironmentSpec, by_age, first_of
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.errors import KubeError, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CLUSTER_CALENDARS, CRON_JOBS, Obj
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.owners import MOST_ENVIRONMENTS, Owners

MOST_JOBS, MOST_NAMES = 200, 200
LONGEST_CALENDAR = 256 * 1024
"""Bytes; a longer calendar is not sent, and then nothing is checked against it."""
_LONGEST = 1000


class RelatedEnvironments:
    """Answers questions of the webhook process about Environments and Overrides."""

    def __init__(self, client: KubeClient, caches: EnvironmentCaches, owners: Owners) -> None:
        self._client, self._caches, self._owners = client, caches, owners

    def overrides_of(self, namespace: str) -> Obj:
        """Return the time, and the number of Overrides that have not ended. Raises Unavailable."""
        if not self._caches.overrides.synced:
            raise Unavailable("overrides have not been listed")
        lives = self._caches.overrides.objects(namespace)
        return {
            "now": self._client.clock.now().isoformat(),
            "overrides": sum(text_at(live, "status", "phase") != "Ended" for live in lives),
        }

    async def environment(self, question: Obj) -> Obj:
        """Return the CronJobs that no older Environment owns, with the labels that are asked for, and the calendar.

        The calendar is its spec, with the names of all calendars of its kind; None for what is not known.
        """
        namespace, reference, keys = question["environmentOf"], question["calendar"], question["labels"]
        informer = self._caches.cluster_calendars if reference["kind"] == CLUSTER_CALENDARS.kind else None
        informer = informer or self._caches.calendars
        where = "" if reference["kind"] == CLUSTER_CALENDARS.kind else namespace
        live = informer.get(where, reference["name"]) if reference["name"] else None
        names = [name_of(one) for one in islice(informer.objects(where), MOST_NAMES)] if informer.synced else None
        if names is not None and live is not None:
            names = [*dict.fromkeys((reference["name"], *names))]
        return {
            "now": self._client.clock.now().isoformat(),
            "jobs": [_job(one, keys) for one in islice(await self._jobs(namespace, question["name"]), MOST_JOBS)],
            "calendar": None if live is None else _calendar(live),
            "calendars": names,
        }

    async def _jobs(self, namespace: str, name: str) -> Iterator[Obj]:
        """CronJobs that are not suspended, or only by an Environment."""
        informer = self._caches.members[CRON_JOBS.kind]
        try:
            lives = informer.objects(namespace) if informer.synced else await self._client.list(CRON_JOBS, namespace)
        except KubeError:  # no warning without knowledge: admission must not fail because of this
            lives = []
        asleep = self._put_to_sleep(namespace)
        older = list(self._older(namespace, name))
        running = (live for live in lives if value_at(live, "spec", "suspend") is not True or name_of(live) in asleep)
        return (one for one in running if first_of(older, *_marks(one)) is None)

    def _older(self, namespace: str, name: str) -> Iterator[EnvironmentSpec]:
        """The Environments that are older than the one of that name; a new one is the youngest."""
        return takewhile(lambda spec: spec.name != name, by_age(self._owners.within(namespace)))

    def _put_to_sleep(self, namespace: str) -> set[str]:
        """Names of CronJobs that Environments have suspended and will resume."""
        prefix = f"{CRON_JOBS.kind}/"
        return {
            key.removeprefix(prefix)
            for live in islice(self._caches.environments.objects(namespace), MOST_ENVIRONMENTS)
            for key, member in map_at(live, "status", "members").items()
            if key.startswith(prefix) and value_at(member, "replicas")
        }


def _marks(live: Obj) -> tuple[dict[str, str], dict[str, str]]:
    return texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")


def _calendar(live: Obj) -> Obj | None:
    spec = map_at(live, "spec")
    return spec if len(orjson.dumps(spec)) <= LONGEST_CALENDAR else None


def _job(live: Obj, keys: list[str]) -> Obj:
    labels, annotations = _marks(live)
    spec: dict[str, Any] = {key: text_at(live, "spec", key)[:_LONGEST] for key in ("schedule", "timeZone")}
    deadline = value_at(live, "spec", "startingDeadlineSeconds")
    if isinstance(deadline, int):
        spec["startingDeadlineSeconds"] = deadline
    return {
        "metadata": {
            "name": name_of(live),
            "labels": {key: labels[key][:_LONGEST] for key in keys if key in labels},
            "annotations": {key: annotations[key][:_LONGEST] for key in (EXCLUDE, IGNORE) if key in annotations},
        },
        "spec": spec,
    }
