"""Jobs that are no longer wanted: those of an earlier generation, and finished ones beyond the history limits.

Behaviour reference, sections 10.4 (rollout) and 10.6 (history).
"""

import logging
from collections.abc import Iterator

from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.errors import KubeError
from keda_py.kube.client import Propagation
from keda_py.kube.resources import Obj
from keda_py.operator.controller.state import about
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.scaled_jobs.caches import generation_of
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.state import ScaledJobState

log = logging.getLogger(__name__)


async def delete_earlier_generations(
    parts: ScaledJobDependencies, tracker: JobTracker, state: ScaledJobState, spec: JobScalingSpec, live: Obj
) -> None:
    """Delete every Job that this generation has not created, unless the rollout is gradual. Raises StepError."""
    earlier = [] if spec.gradual_rollout else list(_of_other_generations(tracker, state, spec))
    if not earlier:
        return
    what = f"{len(earlier)} jobs owned by the previous version of the scaledJob"
    parts.shared.tell(live, "Normal", "ScaledJobRolloutCleanupStarted", f"Deleting {what}")
    propagation: Propagation = "Foreground" if spec.foreground_deletion else "Background"
    for name in earlier:
        try:
            await tracker.delete(state, name, propagation=propagation)
        except KubeError as error:
            note = f"Failed to delete job {name}: {error}"
            parts.shared.tell(live, "Warning", "ScaledJobRolloutCleanupFailed", note)
            raise StepError(f"Not able to delete job: {name}", error) from error
    parts.shared.tell(live, "Normal", "ScaledJobRolloutCleanupCompleted", f"Deleted {what}")
    log.info("deleted jobs of earlier generations", extra=about(state) | {"jobs": len(earlier)})


async def trim_history(tracker: JobTracker, state: ScaledJobState, spec: JobScalingSpec) -> None:
    """Delete the oldest finished Jobs beyond the limits; the next look tries again what cannot be deleted now."""
    finished = sorted(tracker.jobs(state), key=lambda job: job["status"]["completionTime"])
    try:
        for kind, limit in (("Complete", spec.successful_history), ("Failed", spec.failed_history)):
            ended = [job["metadata"] for job in finished if job["status"]["finished"] == kind]
            for meta in ended[: max(0, len(ended) - limit)]:
                await tracker.delete(state, meta["name"], uid=meta["uid"])
                log.info("deleted finished job", extra=about(state) | {"job": meta["name"], "limit": limit})
    except KubeError as error:
        log.warning("finished jobs were not deleted", extra=about(state) | {"error": str(error)})


def _of_other_generations(tracker: JobTracker, state: ScaledJobState, spec: JobScalingSpec) -> Iterator[str]:
    for job in tracker.jobs(state):
        if generation_of(job) != str(spec.generation):
            yield job["metadata"]["name"]
    for name, expected in state.expected.items():
        if expected.generation != spec.generation:
            yield name
