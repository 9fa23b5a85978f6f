"""The play of `keda-py demo --environments`: an environment of nine workloads in three waves, in Christmas week, and a
namespace beside it that a ClusterEnvironment puts to sleep.

On Monday it is kept up until 22:00, and ten minutes later a person opens its URL; on Tuesday evening Argo CD puts a
count back twice; Thursday is a holiday in Korea; `search` is never ready. The expectations are a table of their own, so
that the demo checks the product.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from keda_py.demo.evening import LOOPBACK, Visitor
from keda_py.demo.play import Act, Expected, Manifest, Play, Stage
from keda_py.demo.scenario import NAMESPACE, SEOUL
from keda_py.kube.client import PatchKind
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, OVERRIDES
from keda_py.kube.transport import Request

ENVIRONMENT = "shop"
MONDAY = datetime(2025, 12, 22, tzinfo=SEOUL)
DATA, CORE, FRONT = ("db", "cache", "broker"), ("api", "auth", "search"), ("web", "admin", "mail")
WAVES = {"data": DATA, "core": CORE, "front": FRONT}
NAMES = (*DATA, *CORE, *FRONT)
SCALED, STATEFUL, NEVER_READY, CONTESTED = "api", "db", "search", "web"
REPLICAS, STARTUP, NEVER = 2, 20, 10**6
CORE_TIMEOUT, CORE_PAUSE = timedelta(minutes=2), timedelta(seconds=10)
WAKES = ("08:30", (0, 1, 2, 4, 7))
SLEEPS = ("19:30", (1, 2, 4))
"""Time of day, and days counted from Monday, at which it sleeps; Monday evening and Thursday differ."""
LATE = "22:00"
LED, OPENED, RELOADED, ANSWERED, STAY = "21:55", "22:10", "22:11:30", "22:13:30", timedelta(hours=2)
"""On Monday: from when requests wake it, a person opens its URL, looks again, has the answer; how long it stays up."""
PUT_BACK = ("19:40", "19:50")
WAKERS = timedelta(seconds=30)
"""How long it may take until Services lead to a waker, and nodes have followed: only then it falls asleep."""
POLICY, OTHER_NAMESPACE, UNDER_POLICY = "office", "blog", "pages"
"""A ClusterEnvironment, a namespace that it covers, and the workload there."""


def week(days: int) -> Play:
    """Build the play from Monday morning on; a whole week ends with the next Monday's wake."""
    end = MONDAY + timedelta(days=days, hours=9)
    visitor = Visitor("web")
    acts = [
        Act(at=_at(0, "19:00"), does=_keep_up),
        Act(at=_at(0, LED), does=_wake_on_request),
        Act(at=_at(0, OPENED), does=visitor.open_url),
        Act(at=_at(0, RELOADED), does=visitor.reload),
        Act(at=_at(0, ANSWERED), does=visitor.see_answer),
        Act(at=_at(0, OPENED) + STAY + timedelta(minutes=5), does=_wake_no_more),
        *(Act(at=_at(1, at), does=_argo_cd) for at in PUT_BACK),
    ]
    return Play(
        title="An environment wakes in order, and sleeps at night and on holidays",
        zone=SEOUL,
        start=MONDAY + timedelta(hours=6),
        end=end,
        names=NAMES,
        manifests=_manifests,
        acts=[act for act in acts if act.at < end],
        expected=[one for one in _expected() if one.at + one.tolerance < end],
        replicas=REPLICAS,
        hpa_sync_seconds=600.0,
        waker=True,
        environment=ENVIRONMENT,
        elsewhere={UNDER_POLICY: f"namespace {OTHER_NAMESPACE}, by ClusterEnvironment {POLICY}"},
        watch="environments",
    )


def _at(day: int, clock: str) -> datetime:
    hour, minute, *second = map(int, clock.split(":"))
    return MONDAY + timedelta(days=day, hours=hour, minutes=minute, seconds=sum(second))


def _expected() -> Iterator[Expected]:
    for day in WAKES[1]:
        # On Wednesday `web` is up already: Argo CD put its count back on Tuesday evening.
        yield from _waking(_at(day, WAKES[0]), up_already=(CONTESTED,) if day == 2 else ())
    yield from _falling_asleep(_at(0, LATE), waits=WAKERS)
    yield from _waking(_at(0, OPENED))
    yield from _falling_asleep(_at(0, OPENED) + STAY, waits=WAKERS)
    for day in SLEEPS[1]:
        yield from _falling_asleep(_at(day, SLEEPS[0]))
    for day in WAKES[1]:
        yield Expected(name=UNDER_POLICY, at=_at(day, WAKES[0]), up=True, tolerance=timedelta(seconds=5))
    for day in (0, *SLEEPS[1]):
        yield Expected(name=UNDER_POLICY, at=_at(day, SLEEPS[0]), up=False, tolerance=timedelta(seconds=5))
    first, second = (_at(1, clock) for clock in PUT_BACK)
    yield Expected(name=CONTESTED, at=first, up=True)
    yield Expected(name=CONTESTED, at=first, up=False)
    yield Expected(name=CONTESTED, at=second, up=True)


def _waking(at: datetime, *, up_already: tuple[str, ...] = ()) -> Iterator[Expected]:
    """Yield the wakes: a wave begins when the one before is ready, the front one when the wait for `search` is over.

    A StatefulSet starts its pods one after another.
    """
    core = at + timedelta(seconds=STARTUP * REPLICAS)
    begins = {DATA: at, CORE: core, FRONT: core + CORE_TIMEOUT + CORE_PAUSE}
    for wave, begin in begins.items():
        for name in wave:
            if name not in up_already:
                yield Expected(name=name, at=begin, up=True, tolerance=timedelta(seconds=5))


def _falling_asleep(at: datetime, waits: timedelta = timedelta(0)) -> Iterator[Expected]:
    """Yield the changes in reverse order: the database goes last."""
    for wave, names in enumerate((FRONT, CORE, DATA)):
        for name in names:
            yield Expected(name=name, at=at, up=False, tolerance=waits + timedelta(seconds=5 + 15 * wave))


async def _keep_up(stage: Stage) -> None:
    """Do what `keda-py wake shop --until 22:00 --reason release` does."""
    spec = {"state": "Awake", "until": _at(0, LATE).isoformat(), "reason": "release"}
    metadata = {"name": "release", "namespace": NAMESPACE}
    body = {"apiVersion": OVERRIDES.api_version, "kind": OVERRIDES.kind, "metadata": metadata, "spec": spec}
    await stage.client.create(OVERRIDES, body)


async def _wake_on_request(stage: Stage) -> None:
    """Let requests wake it, for this night alone: while slices lead to a waker, the operator asks every two seconds
    whether it is alive, and a week of these would take longer than a person watches a demo.
    """
    wake = {"for": f"{STAY.seconds // 3600}h"}
    await stage.client.patch(ENVIRONMENTS.named(NAMESPACE, ENVIRONMENT), {"spec": {"wakeOnRequest": wake}})


async def _wake_no_more(stage: Stage) -> None:
    await stage.client.patch(ENVIRONMENTS.named(NAMESPACE, ENVIRONMENT), {"spec": {"wakeOnRequest": None}})


async def _argo_cd(stage: Stage) -> None:
    """Put the count of Git back, as a sync of Argo CD does."""
    query = {"fieldManager": "argocd-controller", "force": "true"}
    path = DEPLOYMENTS.named(NAMESPACE, CONTESTED)
    headers = {"Content-Type": PatchKind.APPLY.value}
    await stage.client.send(
        Request(
            method="PATCH",
            path=path.path,
            query=query,
            body=_workload(CONTESTED, "front"),
            headers=headers,
            resource="deployments",
        )
    )


def _manifests(queue_url: str) -> list[Manifest]:
    namespace: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    workloads = [_workload(name, wave) for wave, names in WAVES.items() for name in names]
    return [
        namespace,
        *workloads,
        _service(urlsplit(queue_url).port or 80),
        _scaled_object(queue_url),
        _calendar(),
        _environment(),
        *_other_namespace(),
    ]


def _service(port: int) -> Manifest:
    """Return the Service of `web`. One server on this machine stands for all of its pods, since the embedded cluster
    runs none; a waker asks it only while one is ready.
    """
    ports = [{"name": "http", "port": port, "targetPort": port}]
    spec = {"selector": {"app": CONTESTED}, "ports": ports, "clusterIP": LOOPBACK}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": CONTESTED, "namespace": NAMESPACE},
        "spec": spec,
    }


def _hours() -> Manifest:
    hours = [{"days": "Mon-Fri", "from": WAKES[0], "to": SLEEPS[0]}]
    return {"timeZone": str(SEOUL), "hours": hours, "holidays": [{"country": "KR"}]}


def _calendar() -> Manifest:
    return _manifest("Calendar", "office", _hours())


def _other_namespace() -> list[Manifest]:
    """A namespace without an Environment of its own, which a policy by its label covers."""
    meta = {"name": OTHER_NAMESPACE, "labels": {"sleeps": "yes"}}
    workload = _workload(UNDER_POLICY, "")
    workload["metadata"] = {"name": UNDER_POLICY, "namespace": OTHER_NAMESPACE}
    spec = {"namespaceSelector": {"matchLabels": meta["labels"]}, "template": {"calendar": _hours(), "grace": "0s"}}
    policy = _manifest("ClusterEnvironment", POLICY, spec)
    policy["metadata"] = {"name": POLICY}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": meta}, workload, policy]


def _environment() -> Manifest:
    core = {"timeout": f"{CORE_TIMEOUT.seconds}s", "pause": f"{CORE_PAUSE.seconds}s"}
    waves = [
        {"name": wave, "selector": {"matchLabels": {"wave": wave}}, **(core if wave == "core" else {})}
        for wave in WAVES
    ]
    return _manifest("Environment", ENVIRONMENT, {"calendarRef": {"name": "office"}, "grace": "0s", "waves": waves})


def _manifest(kind: str, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": OVERRIDES.api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _workload(name: str, wave: str) -> Manifest:
    startup = NEVER if name == NEVER_READY else STARTUP
    container = {"name": "app", "image": "registry.example/app:1"}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": {"local.keda-py.dev/startup-seconds": str(startup)}},
        "spec": {"containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet" if name == STATEFUL else "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"wave": wave}},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
            **({"serviceName": name} if name == STATEFUL else {}),
        },
    }


def _scaled_object(queue_url: str) -> Manifest:
    trigger = {
        "type": "metrics-api",
        "metadata": {"url": queue_url, "valueLocation": "jobs", "targetValue": "10"},
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": SCALED, "namespace": NAMESPACE, "labels": {"wave": "core"}},
        "spec": {
            "scaleTargetRef": {"name": SCALED},
            "minReplicaCount": 1,
            "maxReplicaCount": 4,
            "pollingInterval": 600,
            "triggers": [trigger],
        },
    }
