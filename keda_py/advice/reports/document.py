"""Advice for programs: times in UTC, durations in seconds, hours as a calendar has them."""

from collections.abc import Sequence
from typing import Any

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.current_hours import CurrentHours
from keda_py.advice.proposals.groups import Group
from keda_py.advice.proposals.shared_calendars import environment_of, shared_calendars
from keda_py.advice.proposals.workload import LowerMinimum, MinimumSchedule
from keda_py.advice.reports.evidence import evidence_of, saved_of
from keda_py.core.advice.usage import week_shares
from keda_py.core.savings.statement import Prices
from keda_py.core.values.times import write_time


def document(
    advices: Sequence[Advice],
    groups: Sequence[Group],
    prices: Prices,
    standings: Sequence[CurrentHours] | None = None,
) -> dict[str, Any]:
    """The whole document; `standing` is null where it was not asked for."""
    calendars = shared_calendars(groups)
    return {
        "standing": None if standings is None else [_standing(each) for each in standings],
        "workloads": [_workload(each, prices) for each in advices],
        "calendars": [each.body for each in calendars],
        "environments": [environment_of(each, calendars) for each in groups],
    }


def _workload(advice: Advice, prices: Prices) -> dict[str, Any]:
    workload, use = advice.observed.workload, advice.use
    candidate = advice.candidate if isinstance(advice, Proposal) else None
    hours = candidate.hours if candidate is not None else ()
    return {
        "namespace": workload.namespace,
        "kind": workload.kind,
        "name": workload.name,
        "proposal": "nothing" if candidate is None else "hours" if hours else "asleep",
        "because": advice.because,
        "timeZone": advice.place.zone.key if advice.place else None,
        "hours": [{"days": each.days_text, "from": each.from_text, "to": each.to_text} for each in hours],
        "holidays": {"country": advice.place.country, "closed": candidate.closed}
        if advice.place and candidate is not None
        else None,
        "since": use.change.since.isoformat() if use and use.change else None,
        "floor": {"level": use.floor.level, "noise": use.floor.noise, "unit": advice.observed.unit} if use else None,
        "missing": round(1 - use.history.known, 4) if use else None,
        "proof": _proof(advice, prices) if isinstance(advice, Proposal) else None,
        "minReplicas": _lower(advice.lower) if advice.lower else None,
        "scalingSchedule": _schedule(advice.schedule) if isinstance(advice.schedule, MinimumSchedule) else None,
        "week": week_shares(use) if use else None,
        "evidence": list(evidence_of(advice, prices)),
    }


def _lower(lower: LowerMinimum) -> dict[str, Any]:
    return {
        "from": lower.minimum,
        "to": 0,
        "idleHoursAWeek": round(lower.idle_a_week, 4),
        "wakesAWeek": round(lower.wakes_a_week, 4),
    }


def _schedule(found: MinimumSchedule) -> dict[str, Any]:
    return {
        "manifest": found.body,
        "savedReplicaHoursAWeek": round(found.saved_a_week, 4),
        "secondsUnderCapacity": found.seconds_short,
        "secondsUnderCapacityInstead": found.seconds_short_instead,
        "missing": round(found.missing, 4),
        "moments": [
            {"at": write_time(each.at), "seconds": each.seconds, "kept": each.kept, "needed": each.needed}
            for each in found.shortages
        ],
    }


def _standing(standing: CurrentHours) -> dict[str, Any]:
    proof, workload = standing.proof, standing.advice.observed.workload
    return {
        "namespace": workload.namespace,
        "kind": workload.kind,
        "name": workload.name,
        "environment": standing.environment,
        "hours": standing.hours,
        "fits": standing.fits,
        "waitsAWeek": round(proof.waits_a_week, 4) if proof else None,
        "savedReplicaHoursAWeek": round(proof.saved_a_week, 4) if proof else None,
        "because": standing.words,
    }


def _proof(advice: Proposal, prices: Prices) -> dict[str, Any]:
    proof, saved = advice.proof, saved_of(advice)
    return {
        "from": write_time(proof.begins),
        "to": write_time(proof.ends),
        "replicaHours": round(proof.used, 4),
        "replicaHoursInstead": round(proof.instead, 4),
        "savedReplicaHoursAWeek": round(saved.saved, 4),
        "moneyAWeek": round(saved.money(prices), 4) if prices != Prices() else None,
        "waitsAWeek": round(proof.waits_a_week, 4),
        "unknownHoursAsleep": round(proof.unknown, 4),
        "waits": [
            {
                "at": write_time(each.at),
                "usedSeconds": each.used,
                "requests": round(each.requests, 1) if advice.observed.counts_requests else None,
                "waitSeconds": each.waited,
            }
            for each in proof.waits
        ],
    }
