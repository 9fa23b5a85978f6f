"""What `keda-py validate` would warn of an Environment of a cluster: hours, waves, shared members, jobs that never run.

The reading of a preview finds it: the same lists, the same rights, the same sentences.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from keda_py.core.environment.spec import owner_of
from keda_py.core.meaning.jobs import CRON_JOB
from keda_py.errors import KubeError
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.reading.cluster import ClusterReading, Lists
from keda_py.replay.reading.manifests import Source, read_plans

AHEAD = timedelta(days=7)


async def warnings_of(client: Lists, namespace: str, name: str, now: datetime) -> list[str]:
    """Sentences, each with its code; one that says so where it cannot be judged."""
    reading = ClusterReading(client, namespace)
    try:
        sources = await reading.read()
    except KubeError as error:
        return [f"it cannot be judged as `keda-py validate` does: {error}"]
    return list(warnings_among(sources, namespace, name, now))


def warnings_among(sources: Sequence[Source], namespace: str, name: str, now: datetime) -> Iterator[str]:
    """The same of what was read: those of the Environment, and of the CronJobs that it has."""
    title = f"Environment {namespace}/{name}: "
    for plan in read_plans(sources, now, now + AHEAD):
        if plan.name == namespace:
            about = (title, *(f"{CRON_JOB} {namespace}/{job}: " for job in _jobs(plan, name)))
            yield from (one.removeprefix(title) for one in plan.warnings if one.startswith(about))


def _jobs(plan: NamespacePlan, environment: str) -> Iterator[str]:
    specs = [one.spec for one in plan.environments]
    for member in plan.members:
        owner = owner_of(specs, member.labels, member.annotations) if member.kind == CRON_JOB else None
        if owner is not None and owner.name == environment:
            yield member.name
