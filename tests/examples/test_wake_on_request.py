"""wake-on-request: on a Friday evening in Prague somebody opens the URL of what sleeps."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.localkube.store.subscriptions import Event
from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl
from tests.operator.waking.stand_in import SERVICE, our_slices, two_wakers

BEFORE = datetime(2026, 11, 20, 18, 58, tzinfo=ZoneInfo("Europe/Prague"))
CHOSEN = "  selector: {app: web}"
ON_THIS_MACHINE = {CHOSEN: f"  clusterIP: 127.96.0.10\n{CHOSEN}"}
"""The address of the Service, where the operator asks whether it leads to a waker: nothing listens there."""
REQUEST = {
    "namespace": "default",
    "service": "web",
    "port": "http",
    "client": "10.1.2.3",
    "userAgent": "Mozilla/5.0 (X11; Linux x86_64)",
}


@needs_kubectl
async def test_a_request_at_night_wakes_the_database_first_and_two_hours_later_it_sleeps(tmp_path: Path) -> None:
    async with (
        play(tmp_path, "wake-on-request", ON_THIS_MACHINE, begins=BEFORE, flags={"waker-service": SERVICE}) as at,
        two_wakers(at.world),
    ):
        await at.apply()
        await at.until(BEFORE.replace(hour=19, minute=10))
        assert (at.replicas("web"), at.replicas("db", "StatefulSet")) == (0, 0)
        assert [one["metadata"]["labels"]["kubernetes.io/service-name"] for one in our_slices(at.world)] == ["web"]
        await at.shows()
        woken: list[str] = []
        at.world.listen(lambda event: woken.append(event.object["kind"]) if _is_woken(event) else None)
        # What a waker writes where the operator cannot be called.
        report = {"metadata": {"annotations": {"keda-py.dev/wake-request": json.dumps(REQUEST)}}}
        await at.world.patch(ENDPOINT_SLICES, report, "web-keda-py-waker")
        await at.seconds(60)
        assert woken == ["StatefulSet", "Deployment"]
        await at.shows()
        assert (at.replicas("web"), our_slices(at.world)) == (2, [])
        await at.seconds(2 * 3600)
        assert (at.replicas("web"), at.replicas("db", "StatefulSet")) == (0, 0)


def _is_woken(event: Event) -> bool:
    if event.resource.kind not in ("Deployment", "StatefulSet") or event.previous is None:
        return False
    return event.previous["spec"]["replicas"] == 0 and event.object["spec"]["replicas"] > 0
