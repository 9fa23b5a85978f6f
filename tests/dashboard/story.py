"""A Friday noon to look at: an environment, what a shop runs, a demo that keeps something awake, a source that fails."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from keda_py.kube.resources import Obj
from tests.builders import bare_scaled_object, cron, cron_job, deployment, metrics_api, obj

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FORGED = "<img src=x onerror=alert(1)>"
GROUP = "keda-py.dev/v1alpha1"
Status = Mapping[str, Any]


def objects() -> list[tuple[Obj, Status]]:
    """Each with the status that an operator would have written."""
    office = cron("0 7 * * 1-5", "0 19 * * 1-5", 2, "Europe/Berlin")
    late = cron("30 10 * * 1-5", "0 16 * * 1-5", 3, "Asia/Seoul")
    queue = metrics_api("http://jobs.shop/")
    return [
        (so("api", "dev", office), awake("cron window 07:00 to 19:00 is open", steps((0, 6, 2), (1, 18, 0)), until=18)),
        (so("web", "dev", queue, minReplicaCount=1), awake("minReplicaCount is 1", steps((0, 6, 1), (1, 18.1, 0)))),
        (so("wiki", "tools", cron()), awake("cron window 08:00 to 20:00 is open", DAY, until=20)),
        (so("build-farm", "tools", late), asleep("no window is open", [{"time": at(7), "reason": FORGED}])),
        (so("checkout", "shop", office, queue, maxReplicaCount=12), awake("s1-metric is 44, target 5", CHECKOUT)),
        (so("mails", "shop", queue), asleep("no trigger is active", steps((0, 8.6, 0), (0, 8.4, 2)))),
        (so("reports", "shop", cron("0 1 * * *", "0 4 * * *", 6)), asleep("no window is open", REPORTS)),
        (so("search", "shop", queue), BROKEN),
    ]


def others() -> list[tuple[Obj, Status]]:
    """The Environment and an Override. What the page says of the Environment's members is read of them."""
    hours = [{"days": "Mon-Fri", "from": "07:00", "to": "19:00"}]
    office = obj(
        GROUP, "Environment", "office", "dev", spec={"calendar": {"timeZone": "Europe/Berlin", "hours": hours}}
    )
    target = {"kind": "ScaledObject", "name": "mails"}
    spec = {"target": target, "state": "Asleep", "for": "4h", "reason": "mail server moves house"}
    ends = {"phase": "Active", "requestedBy": "mia@example.org", "ends": at(15)}
    return [(office, PHASE), (obj(GROUP, "Override", "asleep-mails", "shop", spec=spec), ends)]


def members() -> list[Obj]:
    """What the Environment has besides ScaledObjects."""
    report = cron_job("report", "0 9 * * 1-5")
    report["metadata"]["namespace"] = "dev"
    counts = {"api": 2, "web": 1, "mail": 2}
    return [*(deployment(name, count, namespace="dev") for name, count in counts.items()), report]


def so(name: str, namespace: str, *triggers: Obj, **spec: Any) -> Obj:
    return bare_scaled_object(*triggers, name=name, namespace=namespace, target=name, **spec)


def at(hour: float, day: int = 20) -> str:
    return f"2026-11-{day}T{int(hour):02}:{round(hour % 1 * 60):02}:00Z"


def steps(*moved: tuple[int, float, int]) -> list[dict[str, Any]]:
    """(days ago, hour, count), the newest first, as changes, the oldest first."""
    found, before = [], 0
    for ago, hour, count in reversed(moved):
        reason = "Activated" if count else "Deactivated"
        counts = {"before": before if count else max(before, 1), "after": count}
        found.append({"time": at(hour, 20 - ago), "reason": reason, "replicas": counts})
        before = count
    return found


def awake(why: str, changes: list[dict[str, Any]], until: float | None = None) -> Status:
    return _status(True, "Active", why, changes, until)


def asleep(why: str, changes: list[dict[str, Any]]) -> Status:
    return _status(False, "Inactive", why, changes, None)


def _status(active: bool, reason: str, why: str, changes: list[dict[str, Any]], until: float | None) -> Status:
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "Active", "status": str(active), "reason": "ScalerActive"},
    ]
    told = {"reason": reason, "notes": [why], "since": changes[-1]["time"]}
    return {
        "conditions": conditions,
        "kedaPy": told if until is None else {**told, "nextChange": at(until)},
        "kedaPyHistory": changes,
    }


DAY = [
    {"time": at(20.1, 19), "reason": "Deactivated", "replicas": {"before": 2, "after": 0}},
    {
        "time": at(8),
        "reason": "Activated",
        "replicas": {"before": 0, "after": 1},
        "triggers": [{"metric": "s0-cron", "active": True, "value": 2}],
    },
]
CHECKOUT = [
    {"time": at(11, 19), "reason": "Activated", "replicas": {"before": 0, "after": 1}},
    {"time": at(18, 19), "reason": "CoolingDown", "replicas": {"before": 3, "after": 3}},
    {"time": at(18.3, 19), "reason": "Deactivated", "replicas": {"before": 3, "after": 0}},
    {"time": at(6), "reason": "Activated", "replicas": {"before": 0, "after": 1}},
    {"time": at(6.1), "reason": "Active", "replicas": {"before": 2, "after": 2}},
]
"""As an operator records it: the counts between 1 and N are the HPA's."""
REPORTS = steps((0, 4.1, 0), (0, 1, 6))
PHASE = {
    "phase": "Awake",
    "phaseSince": at(6),
    "because": "office hours",
    "ready": "3/4",
    "members": {
        "Deployment/mail": {
            "stage": "Contested",
            "replicas": 2,
            "putBacks": 2,
            "by": "argocd-controller",
            "since": at(9),
        }
    },
    "conditions": [
        {
            "type": "Contested",
            "status": "True",
            "reason": "PutBackTwice",
            "message": "Deployment/mail: argocd-controller put its count back 2 times; let it ignore the count",
        }
    ],
    "nextChange": {"to": "Asleep", "at": "2026-11-20T18:00:00Z"},
}
BROKEN = {
    "conditions": [
        {
            "type": "Ready",
            "status": "False",
            "message": "trigger 0: http://jobs.shop/ does not answer: connection refused",
        }
    ],
    "kedaPy": {"reason": "Failing", "since": at(9.3)},
}
