"""A waker's report wakes the Environment, through an ordinary Override, and says so wherever people look."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from keda_py.kube.resources import ENDPOINT_SLICES, ENVIRONMENTS, EVENTS, OVERRIDES, Obj
from keda_py.kube.status import patch_status
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.model.calls import ApiAnswer, Call, User
from tests.builders import deployment, environment, obj, override
from tests.faults.faulty import FaultyApi, Hold, Serve, of
from tests.operator.environments.builders import status, until
from tests.operator.replicas import blind
from tests.operator.waking.stand_in import our_slices, service, two_wakers, waker_slice
from tests.waiting import eventually
from tests.worlds.world import World

NIGHT: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "08:00", "to": "12:04"}]}
REPORT = {
    "namespace": "default",
    "service": "web",
    "port": "http",
    "client": "10.1.2.3",
    "userAgent": "Mozilla/5.0 (X11)",
}
WAKER = User(name="system:serviceaccount:keda:keda-waker", groups=("system:authenticated",))


def right(verbs: list[str]) -> tuple[Obj, Obj]:
    """What the chart gives to wakers."""
    rules = [{"nonResourceURLs": ["/wake"], "verbs": verbs}]
    role = obj("rbac.authorization.k8s.io/v1", "ClusterRole", "keda-waker-wake", rules=rules)
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": WAKER.name}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "keda-waker-wake"}
    binding = obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "keda-waker-wake", roleRef=reference)
    return role, {**binding, "subjects": [subject]}


async def post(world: World, report: object = REPORT, user: User = ADMIN, method: str = "POST") -> int:
    """What the operator answers a waker."""
    assert world.operator.assembly is not None
    token = world.cluster.identity.issue(user)
    url = f"https://127.0.0.1:{world.operator.assembly.serving.secure_port}/wake"
    body = report if isinstance(report, bytes) else json.dumps(report)
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            method,
            url,
            data=body if method == "POST" else None,
            ssl=blind(),
            headers={"Authorization": f"Bearer {token}"},
        ) as answer,
    ):
        return answer.status


async def asleep(world: World, **wake: Any) -> None:
    await world.create(deployment("web", 2), service(), environment(calendar=NIGHT, wakeOnRequest=wake))
    await until(world, 20, "12:06")
    assert world.replicas("web") == 0


async def test_a_request_wakes_it_and_the_record_says_by_what(world: World) -> None:
    async with two_wakers(world):
        await asleep(world, **{"for": "2h"})
        assert await post(world) == 202
        await world.seconds(30)
        assert world.replicas("web") == 2
        found = status(world)
        assert found["because"] == "woken by a request to web from 10.1.2.3, Mozilla, until 2026-11-20T14:06:00Z"
        (made,) = world.all(OVERRIDES)
        assert made["status"]["request"] == "web from 10.1.2.3, Mozilla"
        assert made["status"]["because"] == found["because"]
        told = found["wakeOnRequest"]
        assert (told["wakes"], told["lastRequest"]["client"]) == (1, "10.1.2.3")
        assert told["lastRequest"]["until"] == "2026-11-20T14:06:00Z"
        assert "WokenByRequest" in [reason for _, reason, _ in world.events("dev", "Environment")]
        assert our_slices(world) == []
        await until(world, 20, "14:08")
        assert world.replicas("web") == 0
        assert len(our_slices(world)) == 1


async def test_a_tenants_override_cannot_say_that_a_request_asked_for_it(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        mine = override(state="Awake", target={"kind": "Environment", "name": "dev"}, reason="mine")
        mine["metadata"]["annotations"] = {"keda-py.dev/request": "web from 10.9.9.9"}
        await world.create(mine)
        await world.seconds(10)
        assert status(world)["because"] == "Override evening (Awake): mine"


async def test_a_tenant_who_may_write_statuses_cannot_turn_a_persons_override_into_a_request(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        await world.create(override(state="Awake", target={"kind": "Environment", "name": "dev"}, reason="release"))
        await world.seconds(10)
        forged = world.get(OVERRIDES, "evening")
        await patch_status(world.client, OVERRIDES, forged, forged["status"] | {"request": "web from 10.9.9.9, Chrome"})
        await world.seconds(10)
        assert status(world)["because"] == "Override evening (Awake): release"
        assert world.get(OVERRIDES, "evening")["status"]["because"] == "Override evening (Awake): release"


async def test_requests_while_it_wakes_make_the_stay_longer_without_an_override_each(world: World) -> None:
    async with two_wakers(world):
        await asleep(world, **{"for": "5m"})
        for _ in range(5):
            assert await post(world) == 202
        await world.seconds(1)
        assert len(world.all(OVERRIDES)) == 1
        assert status(world)["wakeOnRequest"]["wakes"] == 1


async def test_wakers_that_ask_at_once_wake_it_once(quiet_world: World, api: FaultyApi) -> None:
    """The API server may take longer for the Override than wakers wait for an answer: a webhook that hangs, for one."""
    world, creation, asking, reviewed = quiet_world, Hold(), list[asyncio.Task[int]](), list[str]()

    async def review(call: Call, serve: Serve) -> ApiAnswer:
        answer = await serve(call)
        reviewed.append(call.path)
        return answer

    def ask(number: int) -> None:
        waker = User(name=f"waker-{number}", groups=("system:masters",))
        asking.append(tasks.create_task(post(world, user=waker)))

    async with two_wakers(world), world.operator.running(), asyncio.TaskGroup() as tasks:
        await asleep(world)
        with (
            api.failing(creation, lambda call: call.method == "POST" and "overrides" in call.path),
            api.failing(review, of("tokenreviews")),
        ):
            ask(0)
            await creation.reached.wait()
            world.clock.step(timedelta(seconds=1))
            for number in (1, 2, 3):
                ask(number)
            await eventually(lambda: len(reviewed) == 4)
            assert await post(world, b"{}", User(name="late", groups=("system:masters",))) == 400
            creation.go_on.set()
            assert [await one for one in asking] == [202] * 4
        await world.seconds(10)
        (woken,) = [one for one in world.all(EVENTS) if one["reason"] == "WokenByRequest"]
        assert (len(world.all(OVERRIDES)), woken.get("series")) == (1, None)


async def test_the_metrics_say_how_many_services_lead_to_wakers_and_how_often_requests_woke_it(world: World) -> None:
    def shown() -> list[float | None]:
        assert world.operator.assembly is not None
        registry = world.operator.assembly.parts.shared.instruments.registry
        names = ("wake_services", "wake_services_ready", "wake_services_without_waker", "wakes_by_request")
        labels = {"namespace": "default", "environment": "dev"}
        return [registry.get_sample_value(f"keda_py_environment_{name}", labels) for name in names]

    async with two_wakers(world) as wakers:
        await asleep(world)
        assert shown() == [1, 1, 0, 0]
        await world.apply(waker_slice([]))
        await world.seconds(5)
        assert shown() == [1, 0, 1, 0]
        await world.apply(waker_slice(wakers))
        await world.seconds(5)
        assert await post(world) == 202
        await world.seconds(20)
        assert shown() == [1, 0, 0, 1]


async def test_a_request_rules_over_an_older_override_asleep(world: World) -> None:
    async with two_wakers(world):
        await world.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        await world.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}))
        await world.seconds(60)
        assert world.replicas("web") == 0
        assert await post(world) == 202
        await world.seconds(60)
        assert world.replicas("web") == 2


async def test_a_request_that_a_waker_wrote_into_the_slice_wakes_as_well(world: World) -> None:
    async with two_wakers(world):
        await asleep(world)
        report = json.dumps(REPORT | {"namespace": "kube-system"})
        change = {"metadata": {"annotations": {"keda-py.dev/wake-request": report}}}
        await world.patch(ENDPOINT_SLICES, change, "web-keda-py-waker")
        await world.seconds(5)
        assert world.replicas("web") == 2
        assert "keda-py.dev/wake-request" not in str(our_slices(world))


async def test_an_annotation_that_cannot_be_read_wakes_nothing_and_is_taken_off(world: World) -> None:
    async with two_wakers(world):
        await asleep(world)
        await world.patch(
            ENDPOINT_SLICES, {"metadata": {"annotations": {"keda-py.dev/wake-request": "[" * 9}}}, "web-keda-py-waker"
        )
        await world.seconds(5)
        assert world.replicas("web") == 0
        assert "keda-py.dev/wake-request" not in str(our_slices(world))


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (REPORT | {"service": "other"}, 404),
        (REPORT | {"namespace": "keda"}, 404),
        (b"{", 400),
        (b" " * 5000, 400),
        ({"service": "web"}, 400),
    ],
)
async def test_what_is_no_report_of_a_sleeping_service_is_refused(world: World, report: object, code: int) -> None:
    async with two_wakers(world):
        await asleep(world)
        assert await post(world, report) == code
        await world.seconds(5)
        assert world.replicas("web") == 0


async def test_only_who_has_the_right_may_ask(world: World) -> None:
    async with two_wakers(world):
        await asleep(world)
        await world.apply(*right(["get", "post"]))
        assert await post(world, user=User(name="jane", groups=("system:authenticated",))) == 403
        assert [await post(world, user=WAKER, method=method) for method in ("GET", "POST", "PUT")] == [200, 202, 403]
        await world.seconds(5)
        assert world.replicas("web") == 2


async def test_without_wakers_there_is_no_such_path(quiet_world: World) -> None:
    await quiet_world.operator.start()
    assert await post(quiet_world) == 404


async def test_an_environment_that_does_not_ask_for_it_any_more_is_not_woken(world: World) -> None:
    async with two_wakers(world):
        await asleep(world)
        await world.patch(ENVIRONMENTS, {"spec": {"wakeOnRequest": None}}, "dev")
        assert await post(world) in (202, 404)
        await world.seconds(5)
        assert (world.replicas("web"), world.all(OVERRIDES)) == (0, [])
