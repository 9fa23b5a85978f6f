"""Fields of Temporal's API that tell how many tasks wait in a queue."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from keda_py.sdk.messages import Fields, declare

SERVICE = "/temporal.api.workflowservice.v1.WorkflowService"
DRAINING = 4
"""Status of a version whose pinned workflows have not ended."""
IDLE = frozenset({1, 5, 6})
"""Statuses of a version without workflows: inactive, drained, created."""
QUEUE_TYPES = {"workflow": 1, "activity": 2, "nexus": 3}
ENHANCED = 1
"""The mode of DescribeTaskQueue that tells of versions by build id."""

_MESSAGES: Mapping[str, Fields] = {
    "TaskQueue": {"name": (1, "string")},
    "TaskQueueVersionSelection": {
        "build_ids": (1, "repeated string"),
        "unversioned": (2, "bool"),
        "all_active": (3, "bool"),
    },
    "DescribeTaskQueueRequest": {
        "namespace": (1, "string"),
        "task_queue": (2, "TaskQueue"),
        "task_queue_type": (3, "int32"),
        "api_mode": (5, "int32"),
        "versions": (6, "TaskQueueVersionSelection"),
        "task_queue_types": (7, "repeated int32"),
        "report_stats": (8, "bool"),
    },
    "TaskQueueStats": {"approximate_backlog_count": (1, "int64")},
    "TaskQueueTypeInfo": {"stats": (2, "TaskQueueStats")},
    "TypesInfoEntry": {"key": (1, "int32"), "value": (2, "TaskQueueTypeInfo")},
    "TaskQueueVersionInfo": {"types_info": (1, "repeated TypesInfoEntry")},
    "VersionsInfoEntry": {"key": (1, "string"), "value": (2, "TaskQueueVersionInfo")},
    "DescribeTaskQueueResponse": {"versions_info": (3, "repeated VersionsInfoEntry"), "stats": (5, "TaskQueueStats")},
    "WorkerDeploymentVersion": {"build_id": (1, "string"), "deployment_name": (2, "string")},
    "DescribeWorkerDeploymentVersionRequest": {
        "namespace": (1, "string"),
        "deployment_version": (3, "WorkerDeploymentVersion"),
        "report_task_queue_stats": (4, "bool"),
    },
    "VersionTaskQueue": {"name": (1, "string"), "type": (2, "int32"), "stats": (3, "TaskQueueStats")},
    "WorkerDeploymentVersionInfo": {"status": (14, "int32")},
    "DescribeWorkerDeploymentVersionResponse": {
        "worker_deployment_version_info": (1, "WorkerDeploymentVersionInfo"),
        "version_task_queues": (2, "repeated VersionTaskQueue"),
    },
    "CountWorkflowExecutionsRequest": {"namespace": (1, "string"), "query": (2, "string")},
    "CountWorkflowExecutionsResponse": {"count": (1, "int64")},
}


@cache
def messages() -> Mapping[str, Any]:
    """The classes by name. Raises ConfigError where the library is not installed."""
    return declare("temporal", _MESSAGES)


def of_versions(answer: Any) -> int:
    """The tasks of all versions and types that an enhanced DescribeTaskQueue tells of."""
    return sum(
        kind.value.stats.approximate_backlog_count
        for version in answer.versions_info
        for kind in version.value.types_info
    )


def of_deployment(answer: Any, task_queue: str, types: Iterable[int]) -> int:
    """The tasks of one queue, by type, that a version of a deployment works on."""
    wanted = set(types)
    return sum(
        queue.stats.approximate_backlog_count
        for queue in answer.version_task_queues
        if queue.name == task_queue and queue.type in wanted
    )
