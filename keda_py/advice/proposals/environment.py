"""Hours as the manifest of an Environment: what is replayed is what is printed."""

from typing import Any

from keda_py.advice.proposals.places import Place
from keda_py.core.advice.candidates import Candidate

API_VERSION = "keda-py.dev/v1alpha1"


def environment_body(namespace: str, name: str, place: Place, candidate: Candidate) -> dict[str, Any]:
    """An Environment of the whole namespace; a candidate without hours has none."""
    hours = [{"days": each.days_text, "from": each.from_text, "to": each.to_text} for each in candidate.hours]
    calendar: dict[str, Any] = {"timeZone": place.zone.key, "hours": hours}
    if candidate.closed and place.country:
        region = {"subdivision": place.subdivision} if place.subdivision else {}
        calendar["holidays"] = [{"country": place.country, **region}]
    return {
        "apiVersion": API_VERSION,
        "kind": "Environment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"calendar": calendar, "readyBy": True},
    }
