"""Argo CD as far as it fights: a loop of self-heal over one Application, by Argo CD's own rules, and new commits.

A difference to Git that no entry of `ignoreDifferences` covers makes the Application OutOfSync, and self-heal syncs it
at once. A sync writes the whole manifest; with RespectIgnoreDifferences=true it leaves covered fields as they are.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from keda_py.kube.client import PatchKind
from keda_py.kube.resources import APPLICATIONS, DEPLOYMENTS, Obj
from keda_py.kube.transport import Request
from keda_py.localkube.store.subscriptions import Event
from tests.builders import obj
from tests.worlds.world import World


def definition(kind: str) -> Obj:
    """Definition of a kind of Argo CD, which accepts every field."""
    plural = f"{kind.lower()}s"
    spec = {
        "group": "argoproj.io",
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    }
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.argoproj.io", spec=spec)


DEFINITION = definition("Application")


def application(git: Mapping[str, int], **spec: object) -> Obj:
    """Application of Deployments in the namespace `default`."""
    resources = [{"group": "apps", "kind": "Deployment", "namespace": "default", "name": name} for name in git]
    body: Obj = {
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
        "syncPolicy": {"automated": {"selfHeal": True}},
        **spec,
    }
    return obj("argoproj.io/v1alpha1", "Application", "shop", spec=body) | {"status": {"resources": resources}}


@dataclass(slots=True)
class SelfHeal:
    """Application `shop` with the counts that Git has; `put_backs` are the counts that it has written."""

    world: World
    git: Mapping[str, int]
    put_backs: list[tuple[str, int]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, event: Event) -> None:
        """Note a change of a count or of the Application."""
        if event.resource.plural in ("deployments", "applications"):
            self._changed.set()

    async def run(self) -> None:
        """Heal after each change, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._heal()

    async def _heal(self) -> None:
        shop = self.world.find(APPLICATIONS, "shop")
        if shop is None:
            return
        different = [name for name, count in self.git.items() if self.world.replicas(name) != count]
        if any(not _is_ignored(shop, name) for name in different):
            await self.sync()

    async def sync(self) -> None:
        """Sync the Application, as for a new commit."""
        shop = self.world.get(APPLICATIONS, "shop")
        respects = "RespectIgnoreDifferences=true" in shop["spec"]["syncPolicy"].get("syncOptions", [])
        for name, count in self.git.items():
            if self.world.replicas(name) != count and not (respects and _is_ignored(shop, name)):
                self.put_backs.append((name, count))
                await self._write(name, count)

    async def _write(self, name: str, count: int) -> None:
        """Apply the manifest by server-side apply, as its field manager."""
        body = obj("apps/v1", "Deployment", name, spec={"replicas": count})
        query = {"fieldManager": "argocd-controller", "force": "true"}
        path = DEPLOYMENTS.named("default", name)
        headers = {"Content-Type": PatchKind.APPLY.value}
        request = Request(method="PATCH", path=path.path, query=query, body=body, headers=headers, resource=path.label)
        await self.world.client.send(request)


def _is_ignored(application: Obj, name: str) -> bool:
    wanted = {"group": "apps", "kind": "Deployment"}
    return any(
        all(fnmatchcase(wanted[part], entry.get(part, "")) for part in wanted)
        and entry.get("name", "") in ("", name)
        and entry.get("namespace", "") in ("", "default")
        and "/spec/replicas" in entry.get("jsonPointers", ())
        for entry in application["spec"].get("ignoreDifferences", ())
    )


@asynccontextmanager
async def healing(world: World, git: Mapping[str, int]) -> AsyncIterator[SelfHeal]:
    """Run the loop over an Application that was created before."""
    loop = SelfHeal(world, git)
    world.listen(loop.hear)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loop.run())
        yield loop
        running.cancel()
