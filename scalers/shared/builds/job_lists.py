"""Lists of jobs of build services: how many of them a runner could take, and where to ask on.

The functions may run in another process (`ScalerContext.parse`), so this file imports little.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from keda_py.errors import ScalerError
from scalers.shared.answers.json_fields import whole
from scalers.shared.answers.json_values import items_of, mapping, read_json, texts_of

INLINE_BYTES: Final = 8 * 1024
"""A longer answer may take more than 10 ms."""
_UNFINISHED: Final = ("queued", "in_progress")
_OF_EVERY_JOB: Final = "Agent.Version"


def count_jobs(text: bytes) -> int:
    """Forgejo: all jobs of the answer. Raises ScalerError."""
    return len(items_of(read_json(text), "the whole"))


def pools(text: bytes) -> list[int]:
    """Azure Pipelines: the ids of the agent pools in a list. Raises ScalerError."""
    return [whole(mapping(pool), "id") for pool in listed_under("value", text)][:2]


def count_waiting(text: bytes, parent: str, demands: Sequence[str], rule: str, small_letters: bool) -> int:
    """Azure Pipelines: the requests that no agent has received, and that agents with these demands could take.

    `rule` is "all" (the same demands), "ignore others" (these and maybe more), "" (these at most). A `parent` goes
    before demands: then requests count that it matches. Raises ScalerError.
    """
    own = {demand.lower() if small_letters else demand for demand in demands if not demand.startswith(_OF_EVERY_JOB)}
    found = 0
    for request in map(mapping, listed_under("value", text)):
        if not _is_waiting(request):
            continue
        if parent:
            found += any(
                mapping(agent).get("name") == parent
                for agent in items_of(request.get("matchedAgents"), "matchedAgents")
            )
        else:
            wanted = {one.lower() if small_letters else one for one in texts_of(request.get("demands"), "demands")}
            wanted = {one for one in wanted if not one.lower().startswith(_OF_EVERY_JOB.lower())}
            found += not demands or _fits(own, wanted, rule)
    return found


def _is_waiting(request: Mapping[str, object]) -> bool:
    received = request.get("receiveTime")
    if received is not None:
        try:
            datetime.fromisoformat(received if isinstance(received, str) else "")
        except ValueError:
            raise ScalerError("azure pipelines: the time of a job cannot be read") from None
    return received is None and request.get("result") is None


def _fits(own: set[str], wanted: set[str], rule: str) -> bool:
    match rule:
        case "all":
            return own == wanted
        case "ignore others":
            return own <= wanted
        case _:
            return wanted <= own


def listed_under(name: str, text: bytes) -> Sequence[object]:
    """The list of that name in an object. Raises ScalerError, also if it is missing: no jobs are an empty list."""
    found = mapping(read_json(text))
    if found.get(name) is None:
        raise ScalerError(f"the answer has no list of {name}")
    return items_of(found[name], name)


def repositories(text: bytes) -> list[str]:
    """GitHub: the names in a page of repositories. Raises ScalerError."""
    return texts_of([mapping(one).get("name") for one in items_of(read_json(text), "the whole")], "name")


def unfinished_runs(text: bytes) -> list[int]:
    """GitHub: the ids of the workflow runs of a page that wait or run. Raises ScalerError."""
    runs = [mapping(one) for one in listed_under("workflow_runs", text)]
    return [whole(run, "id") for run in runs if whole(run, "id") and run.get("status") in _UNFINISHED]


def count_for_labels(text: bytes, labels: Sequence[str], unlabelled: bool) -> int:
    """GitHub: the unfinished jobs of a run that ask for no label but these, in small letters.

    `unlabelled`: whether those that ask for none count. Raises ScalerError.
    """
    jobs = [mapping(one) for one in listed_under("jobs", text)]
    wanted = [
        {label.lower() for label in texts_of(job.get("labels"), "labels")}
        for job in jobs
        if job.get("status") in _UNFINISHED
    ]
    return sum(1 for one in wanted if (one <= set(labels) if one else unlabelled))
