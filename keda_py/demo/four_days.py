"""The play of `keda-py demo`: the last four days up to now, with memory pressure in the afternoons."""

from datetime import timedelta
from functools import partial

from keda_py.clock import SystemClock
from keda_py.demo import scenario
from keda_py.demo.play import Act, Play
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS

NAMES = (scenario.NIGHTLY, scenario.WEEKDAYS, scenario.QUEUE)


def four_days(days: int) -> Play:
    """Build the play of the last days; it ends now, so that ages in `kubectl get` are right."""
    end = SystemClock().now()
    start = end.replace(microsecond=0) - timedelta(days=days)
    changes = [at for at in scenario.pressure_changes(start, end) if start < at < end]
    return Play(
        title="Asleep at night, awake in the morning",
        zone=scenario.SEOUL,
        start=start,
        end=end,
        names=NAMES,
        manifests=scenario.manifests,
        acts=[Act(at=at, does=partial(_press, pressed=scenario.is_pressed(at))) for at in changes],
        expected=scenario.expected_changes(start, end),
        hint="next: keda-py demo --environments, a week of nine workloads that sleep and wake together",
    )


async def _press(client: KubeClient, *, pressed: bool) -> None:
    usage = scenario.PRESSED if pressed else scenario.CALM
    path = DEPLOYMENTS.named(scenario.NAMESPACE, scenario.NIGHTLY)
    await client.patch(path, {"metadata": {"annotations": {"local.keda-py.dev/memory-shared": usage}}})
