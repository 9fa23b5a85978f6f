"""Check of triggers that KEDA asks without a time limit, and that have one here: some queries will exceed it.

A query's duration is known here only if the query names it; `keda-py check-trigger` and the shadow measure the others.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import re2

from keda_py.apis.foreign import map_at, maps_at, text_at, title_of
from keda_py.apis.kinds.table import KINDS
from keda_py.kube.resources import Obj, resource_of
from keda_py.migration.deployments import QuestionTime, question_time_of
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation

_UNLIMITED: Final = frozenset({"cassandra", "external", "external-push", "mongodb", "mssql", "mysql", "postgresql"})
_SHOWN: Final = 5
_LONGEST: Final = 64 * 1024
_SECONDS = re2.compile(r"(?i)\b(?:pg_sleep|sleep)\s*\(\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*\)")
_WAITFOR = re2.compile(r"(?i)\bwaitfor\s+delay\s+'([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?")
_REMEDY: Final = "set `timeout`, such as 30s, in the trigger's metadata: KEDA ignores it"


def check_time_limits(installation: Installation) -> Iterator[Finding]:
    """Yield one finding for all triggers without a `timeout`, and one for each query whose text names a longer wait."""
    limit, without = question_time_of(installation), list[str]()
    for resource in [resource_of(kind) for kind in KINDS if kind.has_triggers]:
        for body in installation.of(resource):
            unlimited = [trigger for trigger in maps_at(body, "spec", "triggers") if _has_no_limit(trigger)]
            without += [title_of(body)] if unlimited else []
            yield from _long_queries(body, unlimited, limit)
    if without:
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        yield Finding(
            severity=Severity.CHANGES,
            object=f"triggers of {', '.join(sorted(_UNLIMITED))}",
            message=f"a question may take {limit.seconds:g} s ({limit.source}), where KEDA waits for any time; used by "
            f"{', '.join(without[:_SHOWN])}{more}",
            remedy=f"where one takes longer, {_REMEDY}; `keda-py check-trigger` tells how long one takes",
        )


def _has_no_limit(trigger: Mapping[str, object]) -> bool:
    return text_at(trigger, "type") in _UNLIMITED and "timeout" not in map_at(trigger, "metadata")


def _long_queries(body: Obj, triggers: list[Obj], limit: QuestionTime) -> Iterator[Finding]:
    for trigger in triggers:
        seconds = _seconds_of(text_at(trigger, "metadata", "query"))
        if seconds >= limit.seconds:
            waits = f"the query of a {text_at(trigger, 'type')} trigger waits {seconds:g} s"
            message = f"{waits}, and fails here after {limit.seconds:g} s"
            yield Finding(severity=Severity.CHANGES, object=title_of(body), message=message, remedy=_REMEDY)


def _seconds_of(query: str) -> float:
    """Sum up the waits that a query itself names."""
    text = query[:_LONGEST]
    slept = sum(float(found[1]) for found in _SECONDS.finditer(text))
    delays = ([float(part or 0) for part in found.groups()] for found in _WAITFOR.finditer(text))
    return slept + sum(3600 * hours + 60 * minutes + seconds for hours, minutes, seconds in delays)
