"""Why a look at a ScaledJob created Jobs or none. Pure; the counterpart of `decision.Reason`."""

from enum import StrEnum

from keda_py.core.jobs.counts import Demand


class JobReason(StrEnum):
    """What a look came to; `keda-py explain` has a sentence for each."""

    CLUSTER_UNKNOWN = "ClusterUnknown"
    CREATE_FAILED = "JobCreateFailed"
    CREATED = "JobsCreated"
    SOME_TRIGGERS_FAIL = "SomeTriggersFail"
    ENOUGH = "EnoughJobs"
    TRIGGERS_FAIL = "TriggersFail"
    INACTIVE = "Inactive"


def reason_for(demand: Demand, *, known: bool, failing: bool, created: int, refused: int) -> JobReason:
    """The first that holds; `known` False: Jobs may have come and gone unseen, so none were created."""
    if not known:
        return JobReason.CLUSTER_UNKNOWN
    if refused:
        return JobReason.CREATE_FAILED
    if created:
        return JobReason.CREATED
    if demand.active:
        return JobReason.SOME_TRIGGERS_FAIL if failing else JobReason.ENOUGH
    return JobReason.TRIGGERS_FAIL if failing else JobReason.INACTIVE
