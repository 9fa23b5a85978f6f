"""Scenario of the demo: three workloads, the load on them, and which changes must happen when.

The expectations are worked out from the calendar here, on their own, so that the demo checks the product and does not
repeat it.
"""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from keda_py.demo.play import Expected, Manifest

SEOUL = ZoneInfo("Asia/Seoul")
NAMESPACE = "demo"
WAKE, SLEEP = time(8, 30), time(19, 30)
COOLDOWN = timedelta(seconds=300)
POLLING = timedelta(seconds=60)
"""Polling interval of the queue's trigger."""
SELDOM = 600
"""Seconds between polls of schedules, which are looked at anyway when a window opens or closes."""
# Memory in Mi, shared by all Ready pods; each requests 100 Mi, the HPA aims at 90 %.
CALM, PRESSED = "60Mi", "250Mi"
PRESSURE_FROM, PRESSURE_TO = time(14, 0), time(16, 0)
BATCHES = ((time(10, 0), time(11, 0), 40), (time(22, 0), time(22, 30), 25))

NIGHTLY, WEEKDAYS, QUEUE = "some-application-develop", "office-hours", "queue-worker"


def manifests(queue_url: str) -> list[Manifest]:
    """List namespace, Deployments and ScaledObjects in the order to apply them."""
    names = (NIGHTLY, WEEKDAYS, QUEUE)
    namespace: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    scaled = [
        _scaled_object(NIGHTLY, [_cron("* * *"), _memory()], maxReplicaCount=10, pollingInterval=SELDOM),
        _scaled_object(WEEKDAYS, [_cron("* * 1-5")], maxReplicaCount=10, pollingInterval=SELDOM),
        _scaled_object(QUEUE, [_metrics_api(queue_url)], maxReplicaCount=5),
    ]
    return [namespace, *map(_deployment, names), *scaled]


def queue_length(now: datetime) -> int:
    """Count the jobs that wait at an instant."""
    local = now.astimezone(SEOUL).time()
    return sum(jobs for begin, end, jobs in BATCHES if begin <= local < end)


def is_pressed(now: datetime) -> bool:
    """Whether there is memory pressure at an instant."""
    return PRESSURE_FROM <= now.astimezone(SEOUL).time() < PRESSURE_TO


def pressure_changes(start: datetime, end: datetime) -> list[datetime]:
    """List the instants at which memory pressure begins or ends."""
    return sorted(at for day in _days(start, end) for at in (_at(day, PRESSURE_FROM), _at(day, PRESSURE_TO)))


def expected_changes(start: datetime, end: datetime) -> list[Expected]:
    """List the wake-ups and deactivations that lie wholly in the played time, in order."""
    found: list[Expected] = []
    for day in _days(start, end):
        for name in (NIGHTLY, WEEKDAYS):
            if name == NIGHTLY or day.weekday() < 5:
                found.append(Expected(name=name, at=_at(day, WAKE), up=True))
                found.append(Expected(name=name, at=_at(day, SLEEP) + COOLDOWN, up=False))
        for begin, over, _ in BATCHES:
            found.append(Expected(name=QUEUE, at=_at(day, begin), up=True, tolerance=POLLING))
            # Down one cooldown after the last poll that saw jobs: at most a poll before the batch ended.
            last_seen = _at(day, over) - POLLING
            found.append(Expected(name=QUEUE, at=last_seen + COOLDOWN, up=False, tolerance=2 * POLLING))
    # What is already up at the start comes down only if it was seen active since: from the second hour on it was.
    margin = timedelta(hours=1)
    inside = [one for one in found if start + margin < one.at and one.at + one.tolerance < end]
    return sorted(inside, key=lambda one: one.at)


def _days(start: datetime, end: datetime) -> Iterator[datetime]:
    day = start.astimezone(SEOUL)
    while day.date() <= end.astimezone(SEOUL).date():
        yield day
        day += timedelta(days=1)


def _at(day: datetime, clock: time) -> datetime:
    return datetime.combine(day.date(), clock, SEOUL)


def _deployment(name: str) -> Manifest:
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
    }
    template = {
        "metadata": {"labels": {"app": name}, "annotations": {"local.keda-py.dev/startup-seconds": "20"}},
        "spec": {"containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {"local.keda-py.dev/memory-shared": CALM},
        },
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def _scaled_object(name: str, triggers: list[Manifest], **fields: int) -> Manifest:
    spec: Manifest = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "cooldownPeriod": int(COOLDOWN.total_seconds()),
        "pollingInterval": int(POLLING.total_seconds()),
        "minReplicaCount": 0,
        **fields,
        "triggers": triggers,
    }
    metadata = {"name": f"{name}-scaledobject", "namespace": NAMESPACE}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec}


def _cron(days: str) -> Manifest:
    metadata = {
        "timezone": str(SEOUL),
        "start": f"{WAKE.minute:02} {WAKE.hour:02} {days}",
        "end": f"{SLEEP.minute:02} {SLEEP.hour:02} {days}",
        "desiredReplicas": "1",
    }
    return {"type": "cron", "metadata": metadata}


def _memory() -> Manifest:
    return {"type": "memory", "metricType": "Utilization", "metadata": {"value": "90"}}


def _metrics_api(url: str) -> Manifest:
    metadata = {"url": url, "valueLocation": "jobs", "targetValue": "10"}
    return {"type": "metrics-api", "metadata": metadata}
