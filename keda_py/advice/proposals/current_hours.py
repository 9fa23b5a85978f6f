"""Hours that are written already: those of a workload's Environment, proven on the same weeks as the proposal.

Overrides are of now and not of these weeks, so they are left out, as ScaledObjects are: a Deployment stands for each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.proof import Proof, prove_manifests
from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, value_at
from keda_py.apis.job_spec import LabelSelector as WrittenSelector
from keda_py.apis.parsing import parse_object
from keda_py.core.advice.usage import window_use
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.errors import ConfigError

_RULING = ("Environment", "Calendar", "ClusterCalendar", "ConfigMap", "Secret")
_FITS = 3.5
"""Hours a week by which hours may be too long, half an hour a day, and still fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentHours:
    """The hours that a workload has, "" where it never sleeps, and how they fit; `problem`: why that is not known."""

    advice: Advice
    environment: str = ""
    hours: str = ""
    proof: Proof | None = None
    problem: str = ""
    fits: bool = True

    @property
    def words(self) -> str:
        """Word the comparison as a sentence."""
        title, proposal = self.advice.observed.workload.title, self.advice
        if self.problem:
            return f"{title}: {self.problem}"
        has = f"your hours {self.hours} (Environment {self.environment})" if self.environment else "it never sleeps"
        if self.proof is None:
            return f"{title}: {has}; {proposal.because}"
        denied = f"{self.proof.waits_a_week:.1f} times a week use would have met it asleep"
        if not isinstance(proposal, Proposal):
            return f"{title}: {has}; {denied}; nothing else is proposed: {proposal.because}"
        proposed = ", ".join(map(str, proposal.candidate.hours)) or "asleep always"
        used = _used(proposal)
        if self.fits:
            return f"{title}: {has} fit{used}; {denied}"
        more = proposal.proof.saved_a_week - self.proof.saved_a_week
        less = f"{abs(more):.1f} replica hours a week {'less' if more > 0 else 'more'}"
        return f"{title}: {has}{used}; {denied}; proposed: {proposed}, {less}"


def _used(proposal: Proposal) -> str:
    """When it is really used, such as `; used Mon-Fri 09:10-18:05 on 97% of the days`."""
    windows = (window_use(proposal.use, each) for each in proposal.candidate.hours)
    used = ", ".join(each.brief for each in windows if each.used)
    return f"; used {used}" if used else ""


def compare(advices: Iterable[Advice], bodies: Sequence[Body], most_waits: float) -> list[CurrentHours]:
    """What each workload has, beside what is proposed."""
    return [_compare(advice, bodies, most_waits) for advice in advices]


def _compare(advice: Advice, bodies: Sequence[Body], most_waits: float) -> CurrentHours:
    if advice.use is None:
        return CurrentHours(advice=advice)
    namespace = advice.observed.workload.namespace
    ruling = [each for each in bodies if each["kind"] in _RULING and namespace_of(each) in ("", namespace)]
    observed = advice.observed
    environment = _environment_of(observed.labels, ruling)
    try:
        proof = prove_manifests(observed, advice.use, ruling)
    except ConfigError as error:
        return CurrentHours(advice=advice, problem=f"its hours cannot be read: {error}")
    fits = proof.waits_a_week <= most_waits
    if isinstance(advice, Proposal):
        fits &= abs(advice.proof.saved_a_week - proof.saved_a_week) <= _FITS * observed.replicas
    name = name_of(environment) if environment else ""
    hours = _hours_text(environment, ruling) if environment else ""
    return CurrentHours(advice=advice, environment=name, hours=hours, proof=proof, fits=fits)


def _environment_of(labels: Mapping[str, str], bodies: Iterable[Body]) -> Body | None:
    """The first that takes a member with these labels."""
    return next((body for body in bodies if body["kind"] == "Environment" and _takes(body, labels)), None)


def _takes(environment: Body, labels: Mapping[str, str]) -> bool:
    """One whose selectors cannot be read takes nothing here; why is said where its hours are read."""
    member = {"metadata": {"labels": labels}}
    try:
        selector, exclude = (_selector(environment, field) for field in ("selector", "exclude"))
    except ConfigError:
        return False
    return (selector is None or selector.matches(member)) and not (exclude is not None and exclude.matches(member))


def _selector(environment: Body, field: str) -> LabelSelector | None:
    written = value_at(environment, "spec", field)
    parsed = None if written is None else parse_object(WrittenSelector, written)
    return build_selector(parsed, f"spec.{field}")


def _hours_text(environment: Body, bodies: Iterable[Body]) -> str:
    spec = map_at(environment, "spec", "calendar")
    reference = text_at(environment, "spec", "calendarRef", "name")
    if reference:
        kinds = ("Calendar", "ClusterCalendar")
        spec = next((map_at(one, "spec") for one in bodies if one["kind"] in kinds and name_of(one) == reference), {})
    rows = maps_at(spec, "hours")
    return ", ".join(f"{text_at(row, 'days')} {text_at(row, 'from')}-{text_at(row, 'to')}".strip() for row in rows)
