"""One workload: its history, its zone, its holidays -> the hours that are proposed, proven, or why there are none."""

from dataclasses import dataclass

from keda_py.advice.proposals.places import Place, PlaceRule, holidays_of
from keda_py.advice.proposals.proof import Proof, prove
from keda_py.advice.proposals.workload import LowerMinimum, MinimumSchedule, Observed
from keda_py.core.advice.candidates import Candidate, NoCandidate, Use, candidates, look_at, measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Findings about a workload. Nothing is proposed, and `because` says why, unless it is a `Proposal`."""

    observed: Observed
    because: str = ""
    place: Place | None = None
    use: Use | None = None
    lower: LowerMinimum | None = None
    """A minimum of replicas that was not needed, whether hours are proposed or not."""
    schedule: MinimumSchedule | NoCandidate | None = None
    """Lower minimums by hours, or why there are none; None where no trigger was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Advice):
    """Hours that are proposed, and their proof; a candidate without hours: asleep always."""

    place: Place
    use: Use
    candidate: Candidate
    proof: Proof
    given_up: tuple[str, ...] = ()
    """Shorter hours that would have denied too much."""


def advise(observed: Observed, places: PlaceRule, most_waits: float) -> Advice:
    """`most_waits` a week may meet a sleeping workload. Raises ConfigError for a country that is unknown."""
    if observed.history is None:
        return Advice(observed=observed, because=observed.problem)
    found = measure(observed.history, *observed.further)
    if isinstance(found, NoCandidate):
        return Advice(observed=observed, because=found.because)
    place = places.find(observed.history, found[1].steps)
    use = look_at(observed.history, found, place.zone, holidays_of(place, observed.history))
    return _first_proven(observed, place, use, most_waits)


def _first_proven(observed: Observed, place: Place, use: Use, most_waits: float) -> Advice:
    """The shortest hours that would have denied little enough."""
    given_up: list[str] = []
    for candidate in candidates(use):
        if isinstance(candidate, NoCandidate):
            given_up.append(candidate.because)
            break
        proof = prove(observed, use, place, candidate)
        if proof.waits_a_week <= most_waits:
            return Proposal(
                observed=observed,
                place=place,
                use=use,
                candidate=candidate,
                proof=proof,
                given_up=tuple(given_up),
            )
        awake = f"awake {', '.join(map(str, candidate.hours))}" if candidate.hours else "asleep always"
        given_up.append(f"{awake}, use would have met it asleep {proof.waits_a_week:.1f} times a week")
    return Advice(observed=observed, because="; ".join(given_up), place=place, use=use)
