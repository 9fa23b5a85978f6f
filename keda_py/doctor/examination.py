"""The whole examination: objects of a cluster -> diagnoses, the most urgent first."""

from collections.abc import Iterator, Sequence

from keda_py.doctor.argocd import check_applications
from keda_py.doctor.diagnosis import Diagnosis, Urgency, diagnose
from keda_py.doctor.disruption_budgets import check_disruption_budgets
from keda_py.doctor.flux import check_flux
from keda_py.doctor.members import GoverningEnvironments, Member, find_members
from keda_py.doctor.quotas import check_quotas
from keda_py.doctor.scaling import check_hpas, check_owners
from keda_py.doctor.webhooks import check_webhooks
from keda_py.migration.installation import Installation

_ORDER = tuple(Urgency)


def examine(installation: Installation) -> tuple[Diagnosis, ...]:
    """Collect all diagnoses. Pure: objects in, findings out."""
    environments = GoverningEnvironments(installation)
    found = [
        *(diagnose(live, problem, urgency=Urgency.UNKNOWN) for live, problem in environments.invalid),
        *_all(installation, find_members(installation, environments)),
    ]
    return tuple(sorted(found, key=lambda one: (_ORDER.index(one.urgency), one.object)))


def _all(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    for kind, refusal in installation.unread.items():
        message = f"could not be looked at: {refusal}"
        remedy = "run as a user who may list it: what fights by it is not known"
        yield Diagnosis(urgency=Urgency.UNKNOWN, object=kind, message=message, remedy=remedy)
    yield from check_applications(installation, members)
    yield from check_flux(installation, members)
    yield from check_hpas(installation, members)
    yield from check_owners(members)
    yield from check_disruption_budgets(installation, members)
    yield from check_webhooks(installation, members)
    yield from check_quotas(installation, members)
