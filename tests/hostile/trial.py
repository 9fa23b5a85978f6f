"""What a case is given to attack with: objects of the hostile tenant, hostile servers, the operator's ports."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from keda_py.kube.client import KubeClient
from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SCALED_OBJECTS, Obj, Resource
from tests.builders import deployment, scaled_object
from tests.e2e.scene import condition_of
from tests.hostile.attacks.keys import self_signed
from tests.hostile.cleaning import AT_ONCE, HOSTILE
from tests.hostile.installation import Installation
from tests.hostile.sources import Behaviour, Source, serve
from tests.hostile.waiting import until

BITE_SECONDS = 15.0
SLICES = Resource(group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices")
Check = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Trial:
    """One case's part of a trial; what it begins ends with `stack`."""

    case: str
    installation: Installation
    client: KubeClient
    stack: AsyncExitStack
    lures: dict[str, str]
    checks: list[Check] = field(default_factory=list)

    async def serve(self, behaviour: Behaviour, **options: Any) -> Source:
        """A hostile server, until the trial ends."""
        return await self.stack.enter_async_context(serve(behaviour, **options))

    async def serve_everywhere(self, behaviour: Behaviour) -> Source:
        """A hostile server at every address of this machine: 127.0.0.0/8 are many."""
        return await self.stack.enter_async_context(serve(behaviour, host="0.0.0.0"))

    def lure(self) -> str:
        """A secret that nothing may show, and which is for this case to follow."""
        lure = f"lure-{uuid4().hex}"
        self.lures[f"the secret of {self.case}"] = lure
        return lure

    def server_tls(self) -> ssl.SSLContext:
        """For a hostile server that speaks TLS with a certificate of its own making."""
        certificate, key = self_signed()
        folder = self.installation.folder
        (folder / "hostile.pem").write_text(certificate + key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "hostile.pem")
        return context

    async def create(self, resource: Resource, body: Obj) -> Obj:
        """In the hostile tenant's namespace, where everything is deleted afterwards."""
        return await self.client.create(resource, _in(HOSTILE, resource, body))

    async def create_in(self, namespace: str, resource: Resource, body: Obj) -> None:
        """In any namespace; it is deleted when the trial ends."""
        await self.client.create(resource, _in(namespace, resource, body))
        self.stack.push_async_callback(self.client.delete, resource.named(namespace, body["metadata"]["name"]))

    async def scale_on(self, *triggers: Obj, name: str = "", **spec: Any) -> str:
        """A ScaledObject with these triggers on a Deployment of its own; its name."""
        name = name or self.case
        await self.create(DEPLOYMENTS, deployment(name))
        await self.create(SCALED_OBJECTS, scaled_object(*triggers, name=name, **spec))
        return name

    async def scale_on_in(self, namespace: str, trigger: Obj) -> None:
        """The same in any namespace, until the trial ends."""
        await self.create_in(namespace, DEPLOYMENTS, deployment(self.case))
        await self.create_in(namespace, SCALED_OBJECTS, scaled_object(trigger, name=self.case))

    async def scale_on_config(self, text: str, **metadata: str) -> None:
        """A ScaledObject on a number in a ConfigMap; returns once it has been looked at."""
        await self.create(CONFIG_MAPS, {"metadata": {"name": self.case}, "data": {"key": text}})
        known = {"resourceKind": "ConfigMap", "resourceName": self.case, "key": "key", "targetValue": "5"}
        await self.scale_on({"type": "kubernetes-resource", "metadata": known | metadata})
        await self.looked_at()

    async def looked_at(self, name: str = "", seconds: float = BITE_SECONDS) -> Obj:
        """Return once the operator has said something about an object's triggers: good, bad, or held back."""
        return await until(self.client, SCALED_OBJECTS.named(HOSTILE, name or self.case), _is_judged, seconds)

    async def each(self, work: Callable[[int], Awaitable[Any]], count: int) -> None:
        """Do it for each number below `count`, some at once."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(index: int) -> None:
            async with gate:
                await work(index)

        async with asyncio.TaskGroup() as tasks:
            for index in range(count):
                tasks.create_task(one(index))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with this until the trial ends."""
        task = asyncio.get_running_loop().create_task(work)

        async def end() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self.stack.push_async_callback(end)

    def afterwards(self, check: Check) -> None:
        """To be checked while the attack is still on, after the innocent tenant has been looked at."""
        self.checks.append(check)


def _in(namespace: str, resource: Resource, body: Obj) -> Obj:
    typed = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
    return {**typed, "metadata": {"namespace": namespace, **body["metadata"]}}


def _is_judged(live: Obj) -> bool:
    status = live.get("status") or {}
    return bool(status.get("kedaPy")) or condition_of(live, "Ready").get("status") == "False"
