"""The webhook as people meet it: kubectl writes, the API server asks the operator, kubectl prints what it said."""

import itertools
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx
import pytest
import pytest_asyncio

from keda_py.kube.resources import EVENTS, OVERRIDES, SCALED_OBJECTS, Obj
from keda_py.localkube.access.identity import ADMIN
from keda_py.operator.admission.webhook.server import MAX_BODY_BYTES
from tests.builders import (
    INLINE,
    authentication,
    calendar,
    cpu,
    cron,
    cron_job,
    environment,
    override,
    scaled_job,
)
from tests.documents import read_file
from tests.localkube.kubectl import needs_kubectl
from tests.operator.admission.guarded import (
    Guarded,
    a_guarded_world,
    requesting,
    scheduled,
)
from tests.places import GOLDEN
from tests.waiting import eventually

pytestmark = [needs_kubectl, pytest.mark.asyncio(loop_scope="module")]

RECORDED = GOLDEN / "scaledobjects"
CRON, CPU = cron(), cpu()
EVERY_DAY = ["2026-01-01/2032-12-31"]
DENIED = 'admission webhook "vscaledobject.kb.io" denied the request: '


NAMESPACES = (f"shop-{number}" for number in itertools.count())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    async with a_guarded_world(tmp_path_factory.mktemp("guarded")) as guarded:
        yield guarded


@pytest_asyncio.fixture(loop_scope="module")
async def guarded(shared: Guarded) -> Guarded:
    """One world for all tests, each in a namespace of its own."""
    return await shared.within(next(NAMESPACES))


async def test_the_configuration_names_the_webhooks_as_keda_does(guarded: Guarded) -> None:
    found = await guarded.kubectl.json("get", "validatingwebhookconfiguration", "keda-admission")
    hooks = {hook["name"]: hook for hook in found["webhooks"]}
    assert {name: hook["clientConfig"]["url"].removeprefix(guarded.webhook) for name, hook in hooks.items()} == {
        "vscaledobject.kb.io": "/validate-keda-sh-v1alpha1-scaledobject",
        "vscaledjob.kb.io": "/validate-keda-sh-v1alpha1-scaledjob",
        "vstriggerauthentication.kb.io": "/validate-keda-sh-v1alpha1-triggerauthentication",
        "vsclustertriggerauthentication.kb.io": "/validate-keda-sh-v1alpha1-clustertriggerauthentication",
        "vcloudeventsource.kb.io": "/validate-eventing-keda-sh-v1alpha1-cloudeventsource",
        "vclustercloudeventsource.kb.io": "/validate-eventing-keda-sh-v1alpha1-clustercloudeventsource",
        **{
            f"v{kind}.kb.io": f"/validate-keda-py-dev-v1alpha1-{kind}"
            for kind in (
                *("calendar", "clustercalendar", "environment", "clusterenvironment", "override", "scalingschedule"),
                *("kedadefaults", "clusterkedadefaults"),
            )
        },
    }
    for hook in hooks.values():
        assert hook["rules"][0]["operations"] == ["CREATE", "UPDATE"]
        assert (hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]) == ("Ignore", "None", 10)
        assert (hook["matchPolicy"], hook["admissionReviewVersions"]) == ("Equivalent", ["v1"])


async def test_kubectl_prints_the_recorded_words_for_every_recorded_denial(guarded: Guarded) -> None:
    await guarded.apply(requesting("t", cpu="100m", memory="100Mi"))
    cases = [read_file(path) for path in sorted(RECORDED.glob("*.yaml"))]
    denied = [case for case in cases if DENIED in (case["rejected"] or "")]
    assert len(denied) == 7
    for case in denied:
        outcome = await guarded.create(case["input"])
        recorded = case["rejected"]
        if "(1:" in recorded:  # what is wrong with a formula, and where, is said in our own words
            recorded = recorded.partition("\n")[0] + "\n"
        assert outcome.err.startswith(recorded)


async def test_warnings_are_printed_and_become_events_but_not_on_a_dry_run(guarded: Guarded) -> None:
    slow = {"minReplicaCount": 1, "pollingInterval": 30, "cooldownPeriod": 60}
    dry = await guarded.create(scheduled("dry", **slow), "--dry-run=server")
    assert (dry.code, dry.err.count("Warning:")) == (0, 2)
    real = await guarded.create(scheduled("real", **slow))
    polling, cooldown = real.err.strip().splitlines()
    assert polling == (
        "Warning: PollingInterval is configured but is not relevant. PollingInterval is only relevant when "
        "minReplicaCount = 0, idleReplicaCount is set, or useCachedMetrics is enabled"
    )
    assert cooldown == (
        "Warning: CooldownPeriod is configured but is not relevant. CooldownPeriod is only relevant when "
        "minReplicaCount = 0 or idleReplicaCount is set"
    )

    def told() -> list[dict[str, Any]]:
        found = [
            event for event in guarded.world.all(EVENTS, guarded.world.namespace) if event["reason"] == "KEDAScalerInfo"
        ]
        return found if len({event["message"] for event in found}) == 2 else []

    for event in await eventually(told):
        assert event["involvedObject"]["name"] == "real"
        assert (event["reportingComponent"], event["type"]) == ("keda-admission", "Normal")


async def test_a_second_object_on_the_same_workload_or_hpa_is_denied(guarded: Guarded) -> None:
    asked = 'controller_runtime_webhook_requests_total{code="200",webhook="/validate-keda-sh-v1alpha1-scaledobject"}'
    earlier = float(await guarded.metric(asked) or 0)
    await guarded.apply(requesting(), scheduled("first"))
    await eventually(lambda: guarded.world.hpa("keda-hpa-first"))
    second = await guarded.create(scheduled("second"))
    assert (
        f"{DENIED}the workload 'web' of type 'apps/v1.Deployment' is already managed by the ScaledObject 'first'"
        in second.err
    )
    advanced = {"horizontalPodAutoscalerConfig": {"name": "keda-hpa-first"}}
    third = await guarded.create(scheduled("third", target="elsewhere", advanced=advanced))
    assert f"{DENIED}the HPA 'keda-hpa-first' is already managed by the ScaledObject 'first'" in third.err
    where = f'action="create",namespace="{guarded.world.namespace}"'
    line = f"keda_webhook_scaled_object_validation_errors_total{{{where},reason="
    assert await guarded.metric(f'{line}"other-scaled-object"}}') == "1.0"
    assert await guarded.metric(f'{line}"other-scaled-object-hpa"}}') == "1.0"
    assert float(await guarded.metric(asked) or 0) >= earlier + 3


async def test_a_foreign_hpa_must_be_named_to_be_taken_over(guarded: Guarded) -> None:
    hpa: dict[str, Any] = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "old"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 3,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        },
    }
    await guarded.apply(requesting(cpu="1"), hpa)
    refused = await guarded.create(scheduled())
    assert f"{DENIED}the workload 'web' of type 'apps/v1.Deployment' is already managed by the hpa 'old'" in refused.err
    obj = scheduled()
    obj["metadata"]["annotations"] = {"scaledobject.keda.sh/transfer-hpa-ownership": "true"}
    unnamed = await guarded.create(obj)
    assert (
        f"{DENIED}the existing hpa 'old' for workload 'web' of type 'apps/v1.Deployment' must be specified by name in "
        "advanced settings to enable ownership transfer" in unnamed.err
    )
    obj["spec"]["advanced"] = {"horizontalPodAutoscalerConfig": {"name": "old"}}
    assert (await guarded.create(obj)).code == 0


async def test_containers_without_requests_are_found_in_one_apply(guarded: Guarded) -> None:
    bare = await guarded.apply(requesting(), scheduled(minReplicaCount=1, triggers=[CPU]))
    assert (
        f"{DENIED}the scaledobject has a cpu trigger but the container app doesn't have the cpu request defined"
        in bare.err
    )
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "50m"}}]},
    }
    await guarded.apply(limits)

    async def accepted() -> bool:
        return (await guarded.create(scheduled(minReplicaCount=1, triggers=[CPU]), "--dry-run=server")).code == 0

    assert await accepted()


async def test_a_target_that_does_not_exist_yet_is_a_warning(guarded: Guarded) -> None:
    outcome = await guarded.create(scheduled(minReplicaCount=1, triggers=[CPU]))
    assert outcome.code == 0
    assert "Warning: apps/v1.Deployment 'web' does not exist yet" in outcome.err


async def test_triggers_that_nobody_serves_and_keys_that_nobody_reads_are_warned_of(guarded: Guarded) -> None:
    odd = {**CRON, "metadata": {**CRON["metadata"], "timezome": "UTC", "two\nlines": "x"}}
    outcome = await guarded.create(scheduled(triggers=[odd, {"type": "crom", "metadata": {}}]))
    assert outcome.code == 0
    known, broken, unknown = outcome.err.splitlines()
    near = 'cron does not read this key; did you mean "timezone"?'
    assert known == f"Warning: spec.triggers[0].metadata.timezome: {near}"
    assert broken.startswith("Warning: spec.triggers[0].metadata.two lines: cron does not read this key")
    assert unknown == "Warning: spec.triggers[1].type: no scaler found for type: crom; nearest: cron"


async def test_a_trigger_that_cannot_work_is_warned_of_when_it_is_applied(guarded: Guarded) -> None:
    changes = {
        "timezone: 'Asia/Soul' is not a known time zone": {"timezone": "Asia/Soul"},
        "start: '0 25 * * *' is not a cron expression": {"start": "0 25 * * *"},
        "start and end can not have exactly same time": {"start": "0 20 * * *", "end": "0 20 * * *"},
        "desiredReplicas": {"desiredReplicas": "many"},
    }
    wrong = [{**CRON, "metadata": {**CRON["metadata"], **change}} for change in changes.values()]
    objects = [
        scheduled(f"so-{number}", target=f"web-{number}", triggers=[trigger]) for number, trigger in enumerate(wrong)
    ]
    outcome = await guarded.apply(*objects)
    assert outcome.code == 0, "KEDA admits them"
    for line, warning in zip(outcome.err.splitlines(), changes, strict=True):
        assert line.startswith("Warning: spec.triggers[0].metadata.")
        assert warning in line


async def test_a_wrong_annotation_of_ours_is_denied_with_its_remedy(guarded: Guarded) -> None:
    body = scheduled("bounded")
    body["metadata"]["annotations"] = {"keda-py.dev/paused-until": "2026-11-27"}
    outcome = await guarded.create(body)
    assert outcome.code != 0
    assert "metadata.annotations[keda-py.dev/paused-until]: '2026-11-27' is not a time with its offset" in outcome.err
    jobs = scaled_job(cron(), name="bounded")
    jobs["metadata"]["annotations"] = {"keda-py.dev/namespace-max-jobs": "many"}
    outcome = await guarded.create(jobs)
    assert '"many" is not a whole number from 1 to 2147483647; write for example "20"' in outcome.err


async def test_other_kinds_are_judged_too(guarded: Guarded) -> None:
    twice = await guarded.create(scaled_job({**CRON, "name": "x"}, {**CRON, "name": "x"}))
    assert (
        'admission webhook "vscaledjob.kb.io" denied the request: triggerName "x" is defined multiple times'
        in twice.err
    )
    identity = {"provider": "aws", "roleArn": "arn:aws:iam::1:role/a", "identityOwner": "workload"}
    for kind in ("TriggerAuthentication", "ClusterTriggerAuthentication"):
        outcome = await guarded.create(authentication(kind=kind, podIdentity=identity))
        hook = f'admission webhook "vs{kind.lower()}.kb.io" denied the request: '
        assert f"{hook}roleArn of PodIdentity can't be set if KEDA isn't identityOwner" in outcome.err
    kinds = ["keda.scaledobject.ready.v1"]
    source = {
        "apiVersion": "eventing.keda.sh/v1alpha1",
        "kind": "CloudEventSource",
        "metadata": {"name": "events"},
        "spec": {
            "destination": {"http": {"uri": "http://127.0.0.1"}},
            "eventSubscription": {"includedEventTypes": kinds, "excludedEventTypes": kinds},
        },
    }
    both = await guarded.create(source)
    assert "setting included types and excluded types at the same time is not supported" in both.err


async def test_an_object_that_became_wrong_can_still_be_deleted(guarded: Guarded) -> None:
    await guarded.apply(requesting(cpu="1"), scheduled(minReplicaCount=1, triggers=[CPU]))
    await eventually(lambda: (guarded.world.find(SCALED_OBJECTS, "so") or {}).get("metadata", {}).get("finalizers"))
    await guarded.apply(requesting())
    assert (await guarded.kubectl.try_run("delete", "so", "so", "--timeout=10s")).code == 0
    assert guarded.world.find(SCALED_OBJECTS, "so") is None


async def test_what_is_no_review_is_refused(guarded: Guarded) -> None:
    ours, headers = "/validate-keda-sh-v1alpha1-scaledobject", {"Content-Type": "application/json"}
    wrong = {
        "no JSON": (ours, b"{", 400),
        "deep JSON": (ours, b"[" * 100_000, 400),
        "no review": (ours, b"{}", 400),
        "too large": (ours, b" " * (MAX_BODY_BYTES + 1), 413),
        "unknown path": ("/validate", b"{}", 404),
    }
    statuses = {}
    async with httpx.AsyncClient(verify=False) as client:
        for name, (path, body, _) in wrong.items():
            answer = await client.post(f"{guarded.webhook}{path}", content=body, headers=headers)
            statuses[name] = answer.status_code
    assert statuses == {name: status for name, (_, _, status) in wrong.items()}


def awake(name: str, **spec: Any) -> Obj:
    return override(name, state="Awake", **spec)


async def test_an_override_tells_who_created_it_and_one_that_is_over_is_refused(guarded: Guarded) -> None:
    late = await guarded.create(awake("late", until="2020-01-01T22:00:00Z"))
    assert "spec.until: 2020-01-01T22:00:00Z is over before it begins; write a later time" in late.err
    forged = awake("forged")
    forged["metadata"]["annotations"] = {"keda-py.dev/requested-by": "jana"}
    assert "is another user" in (await guarded.create(forged)).err
    assert (await guarded.create(awake("dry"), "--dry-run=server")).code == 0
    assert (await guarded.create(awake("evening", **{"for": "3h"}))).code == 0

    def author() -> str:
        stored = guarded.world.find(OVERRIDES, "evening") or {}
        return str((stored.get("status") or {}).get("requestedBy") or "")

    assert await eventually(author) == ADMIN.name
    over = {"spec": {"for": None, "until": "2020-01-01T22:00:00Z"}}
    edit = await guarded.kubectl.try_run("patch", "override", "evening", "--type=merge", "-p", json.dumps(over))
    assert "is over before it begins" in edit.err


async def test_the_first_environment_of_a_cluster_is_warned_of_a_job_that_it_would_keep_from_running(
    guarded: Guarded,
) -> None:
    quiet = cron_job("quiet", "0 3 * * *")
    quiet["metadata"]["annotations"] = {"keda-py.dev/ignore": "job-never-runs"}
    jobs = (cron_job("report", "0 3 * * *"), cron_job("noon", "0 12 * * *"), quiet)
    await guarded.apply(*jobs)
    outcome = await guarded.apply(environment())
    warnings = [line for line in outcome.err.splitlines() if line.startswith("Warning: ")]
    (warning,) = warnings
    assert warning.startswith('Warning: CronJob report: spec.schedule: "0 3 * * *" (UTC) never falls into the hours of')
    assert warning.endswith("[job-never-runs]")
    assert outcome.code == 0
    stopped = await guarded.apply(cron_job("report", "0 3 * * *", suspend=True))
    assert stopped.code == 0


async def test_a_job_that_the_environment_itself_has_suspended_is_told_and_one_of_its_owner_is_not(
    guarded: Guarded,
) -> None:
    always_closed = {"timeZone": "UTC", "hours": INLINE["hours"], "exceptions": [{"dates": EVERY_DAY, "closed": True}]}
    await guarded.apply(cron_job("report", "0 3 * * *"), cron_job("stopped", "0 3 * * *", suspend=True))
    await guarded.apply(environment(calendar=always_closed))

    async def is_suspended() -> bool:
        return bool((await guarded.kubectl.json("get", "cronjob", "report"))["spec"].get("suspend"))

    await eventually(is_suspended)
    outcome = await guarded.apply(environment())
    assert [line.partition(":")[2].split(":")[0].strip() for line in outcome.err.splitlines()] == ["CronJob report"]


async def test_a_job_that_an_older_environment_has_is_not_told_of_a_younger_one(guarded: Guarded) -> None:
    await guarded.apply(cron_job("report", "0 3 * * *"))
    night = {"timeZone": "UTC", "hours": [{"from": "02:00", "to": "14:00"}]}
    assert (await guarded.apply(environment("old", calendar=night))).err == ""
    await eventually(partial(_is_looked_at, guarded, "old"))
    assert (await guarded.apply(environment("young"))).err == ""


async def _is_looked_at(guarded: Guarded, name: str) -> bool:
    return bool((await guarded.kubectl.json("get", "environment", name)).get("status", {}).get("phase"))


async def test_a_calendar_that_is_not_in_the_cluster_is_told_with_the_nearest_name(guarded: Guarded) -> None:
    await guarded.apply(calendar())
    await eventually(partial(_knows, guarded, "office"))
    outcome = await guarded.apply(environment(calendarRef={"name": "ofice"}))
    assert 'Calendar "ofice" is not in the cluster' in outcome.err
    assert 'did you mean "office"? [no-calendar]' in outcome.err
    assert (await guarded.apply(environment("right", calendarRef={"name": "office"}))).err == ""


async def _knows(guarded: Guarded, name: str) -> bool:
    """Whether the operator has told of that calendar."""
    found = await guarded.kubectl.json("get", "calendar", name)
    return bool(found.get("status", {}).get("conditions"))


async def test_an_override_without_an_end_and_hours_that_are_swapped_are_told(guarded: Guarded) -> None:
    assert "[override-endless]" in (await guarded.apply(override(state="Hold"))).err
    hours = [{"days": "Mon-Fri", "from": "19:30", "to": "08:30"}]
    assert "[hours-swapped]" in (await guarded.apply(calendar("night", hours=hours))).err
