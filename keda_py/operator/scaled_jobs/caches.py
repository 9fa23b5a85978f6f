"""ScaledJobs, the Jobs that carry a ScaledJob's name, and the pods of these; nothing is read from the API per poll."""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, texts_at
from keda_py.core.jobs.spec import GENERATION, JOB_NAME_LABEL
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import Forbidden, KubeError, Unavailable
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import NamespacedName, key_of
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, whole
from keda_py.kube.resources import JOBS, PODS, SCALED_JOBS, Obj, Selection
from keda_py.kube.status import packed
from keda_py.operator.cluster.caches import BLIND_SECONDS
from keda_py.operator.cluster.references import BY_AUTHENTICATION, index_authentication
from keda_py.operator.decisions.history import HISTORY

POD_JOB_LABEL = "job-name"
LABELLED = Selection(labels=JOB_NAME_LABEL)
FINISHED = ("Complete", "Failed")
CATCH_UP_SECONDS = 5.0

log = logging.getLogger(__name__)


def keep_job(live: Obj) -> Obj:
    """Trim a Job to its owner, its generation, and whether and when it has finished."""
    true = _true_conditions(live)
    ended = [kind for kind in FINISHED if kind in true]
    return {
        "metadata": _identity(live, (JOB_NAME_LABEL,)),
        "status": {"finished": ended[0] if ended else "", "completionTime": text_at(live, "status", "completionTime")},
    }


def keep_scaled_job(live: Obj) -> Obj:
    """Trim a ScaledJob by its managedFields, which nothing reads."""
    return packed(whole(live), HISTORY)


def keep_pod(live: Obj) -> Obj:
    """Trim a pod to its Job, its phase, and its conditions that are true."""
    return {
        "metadata": _identity(live, (POD_JOB_LABEL,)),
        "status": {"phase": text_at(live, "status", "phase"), "conditions": _true_conditions(live)},
    }


def _true_conditions(live: Obj) -> list[str]:
    return [text_at(one, "type") for one in maps_at(live, "status", "conditions") if one.get("status") == "True"]


class JobCaches:
    """Informers of ScaledJobs, Jobs and pods, to `run` in a TaskGroup; the last two begin with the first ScaledJob.

    An installation without ScaledJobs may withhold these rights, and nothing is asked in vain then.
    """

    def __init__(self, client: KubeClient, namespaces: Sequence[str]) -> None:
        self._client, self._namespaces = client, tuple(namespaces) or ("",)
        where = self._namespaces
        indexes = {BY_AUTHENTICATION: index_authentication}
        scaled_jobs = InformerSpec(resource=SCALED_JOBS, namespaces=where, transform=keep_scaled_job, indexes=indexes)
        self.scaled_jobs = Informer(client, scaled_jobs)
        jobs = InformerSpec(
            resource=JOBS,
            namespaces=where,
            selection=LABELLED,
            transform=keep_job,
            indexes={"owner": _owner_of, "namespace": _namespace_of},
        )
        pods = InformerSpec(
            resource=PODS, namespaces=where, selection=LABELLED, transform=keep_pod, indexes={"job": _job_of}
        )
        self.jobs, self.pods = Informer(client, jobs), Informer(client, pods)

    async def run(self) -> None:
        """Watch until cancelled."""
        needed = asyncio.Event()
        unsubscribe = self.scaled_jobs.subscribe(lambda old, new: needed.set())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.scaled_jobs.run(), name="informer scaledjobs")
            await needed.wait()
            unsubscribe()
            for informer in (self.jobs, self.pods):
                tasks.create_task(informer.run(), name=f"informer {informer.spec.resource.plural}")

    async def synced(self) -> None:
        """Return once every cache holds a complete list; those of Jobs and pods fill with the first ScaledJob."""
        for informer in (self.scaled_jobs, self.jobs, self.pods):
            await informer.wait_synced()

    async def readable(self) -> None:
        """Return once Jobs and their pods are known. Raises KubeError: why they are not."""
        for informer in (self.jobs, self.pods):
            await informer.wait_tried()
            if not informer.synced:
                unknown = Unavailable(f"{informer.spec.resource.plural} have not been listed yet")
                raise (informer.error or unknown).with_traceback(None)

    async def caught_up(self) -> bool:
        """Return once every Job that there is now has been seen; False where they may not be listed.

        The replica that led before may have created some a moment ago; a Job that is not seen would be created again.
        """
        if not len(self.scaled_jobs):
            return True
        backoff = Backoff()
        while True:
            try:
                listed = [key_of(job) for where in self._namespaces for job in await self._list(where)]
                break
            except Forbidden:
                return False
            except KubeError as error:
                log.warning("jobs cannot be listed, none is created", extra={"error": str(error)})
                await asyncio.sleep(backoff.next())
        await self._see(listed)
        return True

    async def _see(self, keys: Sequence[NamespacedName]) -> None:
        changed = asyncio.Event()
        unsubscribe = self.jobs.subscribe(lambda old, new: changed.set())
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while any(self.jobs.get(*key) is None for key in keys):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            log.debug("some jobs were deleted while they were waited for")
        finally:
            unsubscribe()

    async def _list(self, namespace: str) -> list[Obj]:
        return await self._client.list(JOBS, namespace, LABELLED)

    def in_contact(self) -> bool:
        """True unless a watch has been out of contact for so long that Jobs may have come and gone unseen."""
        return all(informer.down_for() < BLIND_SECONDS for informer in (self.scaled_jobs, self.jobs, self.pods))

    def jobs_of(self, key: ObjectKey) -> list[Obj]:
        """List the Jobs of a ScaledJob."""
        return self.jobs.by_index("owner", str(key))

    def jobs_in(self, namespace: str) -> list[Obj]:
        """List the Jobs of all ScaledJobs of a namespace."""
        return self.jobs.by_index("namespace", namespace)

    def pods_of(self, job: Obj) -> list[Obj]:
        return self.pods.by_index("job", f"{namespace_of(job)}/{name_of(job)}")


def owner_key(job: Obj) -> ObjectKey:
    """Return the key of the ScaledJob whose name the Job carries."""
    return ObjectKey(SCALED_JOBS.kind, namespace_of(job), text_at(job, "metadata", "labels", JOB_NAME_LABEL))


def generation_of(job: Obj) -> str:
    """Return the generation of the ScaledJob that created the Job, "" if the Job does not say."""
    return text_at(job, "metadata", "annotations", GENERATION)


def _owner_of(job: Obj) -> Iterable[str]:
    return (str(owner_key(job)),)


def _namespace_of(job: Obj) -> Iterable[str]:
    return (namespace_of(job),)


def _job_of(pod: Obj) -> Iterable[str]:
    return (f"{namespace_of(pod)}/{text_at(pod, 'metadata', 'labels', POD_JOB_LABEL)}",)


def _identity(live: Obj, labels: tuple[str, ...]) -> Obj:
    meta = map_at(live, "metadata")
    kept: Obj = {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in meta}
    written, annotations = texts_at(meta, "labels"), texts_at(meta, "annotations")
    return {
        **kept,
        "labels": {name: written[name] for name in labels if name in written},
        "annotations": {name: annotations[name] for name in (GENERATION,) if name in annotations},
    }
