"""The operator with a waker and the chart's rights: Services are led to wakers, and away, and nothing is refused."""

import asyncio
import json
from pathlib import Path

from keda_py.core.waking.rules import LABEL, REQUEST_ANNOTATION
from keda_py.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, SERVICES, Obj
from tests.builders import deployment, environment
from tests.charts.installed import SHOP, installed
from tests.charts.rendering import render
from tests.charts.rights import given, noted
from tests.operator.waking.stand_in import StandInWaker, service, waker_address, waker_slice
from tests.waiting import eventually

VALUES = {"waker": {"enabled": True, "admissionPolicy": False}}
"""The embedded cluster has no policies of admission; test_waker.py evaluates them."""
CLOSED = {"timeZone": "UTC", "hours": [{"days": "Mon", "from": "00:00", "to": "00:01"}]}
SECONDS = 120.0
"""Probes and graces of the operator are real seconds here, some twenty in all."""


async def test_with_its_rights_alone_the_operator_leads_services_to_wakers_and_away(tmp_path: Path) -> None:
    with noted() as used:
        async with installed(tmp_path, **VALUES) as here, asyncio.TaskGroup() as tasks:
            client, waker = here.scene.client, StandInWaker("keda-waker-0", waker_address(9))
            await client.create(ENDPOINT_SLICES, waker_slice([waker]))
            following = await waker.start(client, tasks)
            always = {"selector": {"matchLabels": {"app": "web"}}, "grace": "0s"}
            web = deployment("web", 1)
            web["metadata"]["labels"] = {"app": "web"}
            await here.scene.create(web, service(), environment(calendar=CLOSED, wakeOnRequest={}, **always))

            async def ours() -> list[Obj]:
                found = await client.list(ENDPOINT_SLICES, SHOP)
                return [one for one in found if LABEL in (one["metadata"].get("labels") or {})]

            async def sleeps() -> bool:
                return (await client.get(DEPLOYMENTS.named(SHOP, "web")))["spec"]["replicas"] == 0

            await eventually(sleeps, SECONDS)
            [leading] = await ours()
            assert [one["targetRef"]["name"] for one in leading["endpoints"]] == ["keda-waker-0"]
            asked = {"namespace": SHOP, "service": "web", "port": "http", "client": "10.0.0.1", "userAgent": "x"}
            told = json.dumps({**asked, "at": "2026-11-26T22:00:00Z"})
            path = ENDPOINT_SLICES.named(SHOP, leading["metadata"]["name"])
            await client.patch(path, {"metadata": {"annotations": {REQUEST_ANNOTATION: told}}})

            async def is_awake() -> bool:
                return not await sleeps()

            await eventually(is_awake, SECONDS)
            await client.delete(SERVICES.named(SHOP, "web"))

            async def is_led_away() -> bool:
                return not await ours()

            await eventually(is_led_away, SECONDS)
            assert here.refused == []
            waker.close()
            following.cancel()
    needed = {"services", "endpointslices", "overrides"}
    idle = given(render(**VALUES)) - used - given(render())
    # A second request during the wake makes the stay longer: tests/operator/waking has that story.
    assert {(right.resource, right.verb) for right in idle if right.resource in needed} == {("overrides", "patch")}
