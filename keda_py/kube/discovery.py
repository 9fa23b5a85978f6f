"""Kind -> resource, asked of the API server one group and version at a time.

A scaleTargetRef names group, version and kind, so one small `GET /apis/GROUP/VERSION` answers it; it is the same on
every server, and a broken aggregated API elsewhere does no harm. Deployments, StatefulSets and ReplicaSets are known
without asking. A kind that is missing is asked for again, but not more often than every few seconds. Users name
versions as they like: of those that the server does not know only the last few are remembered, for these seconds.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from keda_py.errors import ConfigError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, Resource, safe_segment
from keda_py.kube.transport import Request

REFRESH_SECONDS = 10.0
MISSING_REMEMBERED = 256
LONGEST_VERSION = 253 + 1 + 63
"""Characters of a group, a slash and a version."""
SCALE_API_VERSION = "autoscaling/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """What a scaleTargetRef points at: KEDA's GVKR. `scale_api_version` is the wire form of its Scale."""

    group: str
    version: str
    kind: str
    resource: str
    scale_api_version: str = SCALE_API_VERSION

    @property
    def rest(self) -> Resource:
        """The resource to send requests to."""
        return Resource(group=self.group, version=self.version, kind=self.kind, plural=self.resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One resource of a group and version; `scale_api_version` "" says that it has no scale subresource."""

    resource: Resource
    scale_api_version: str = ""


@dataclass(slots=True)
class _Known:
    """What one group and version serves, by kind; empty when the server does not know them."""

    kinds: dict[str, Served] = field(default_factory=dict)
    asked: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_missing(self, since: float) -> bool:
        """Is nothing known of it, asked for before then, and not being asked for?"""
        return not self.kinds and self.asked <= since and not self.asking.locked()


_SEEDS = {
    served.kind: Served(resource=served, scale_api_version=SCALE_API_VERSION)
    for served in (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)
}


class Discovery:
    """Cached answers; one question at a time for each group and version."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._known: dict[str, _Known] = {"apps/v1": _Known(kinds=dict(_SEEDS))}
        self._preferred: dict[str, str] = {}

    async def scale_target(self, api_version: str, kind: str) -> ScaleTarget:
        """The target of a scaleTargetRef; "" stands for apps/v1 and Deployment.

        Raises NotFound when no such kind is served. Whether it can be scaled is for `read_scale` to say.
        """
        served = await self.find(api_version or "apps/v1", kind or "Deployment")
        rest = served.resource
        return ScaleTarget(
            group=rest.group,
            version=rest.version,
            kind=rest.kind,
            resource=rest.plural,
            scale_api_version=served.scale_api_version or SCALE_API_VERSION,
        )

    async def find(self, api_version: str, kind: str) -> Served:
        """The resource of a kind. Raises NotFound, or ConfigError for an apiVersion that cannot be one."""
        known = self._remember(api_version)
        if kind not in known.kinds:
            await self._refresh(api_version, known)
        if kind not in known.kinds:
            raise NotFound(f'no matches for kind "{kind}" in version "{api_version}"', status=404, reason="NoMatch")
        return known.kinds[kind]

    async def resource(self, name: str) -> Resource:
        """The resource of a plural name: `secrets`, or `endpointslices.discovery.k8s.io` in its preferred version."""
        plural, _, group = name.partition(".")
        api_version = await self._preferred_version(group) if group else "v1"
        known = self._remember(api_version)
        for attempt in (1, 2):
            for served in known.kinds.values():
                if served.resource.plural == plural:
                    return served.resource
            if attempt == 1:
                await self._refresh(api_version, known)
        raise NotFound(f'the server has no resource "{name}"', status=404, reason="NoMatch")

    def __len__(self) -> int:
        """Versions of which something is remembered."""
        return len(self._known)

    def _remember(self, api_version: str) -> _Known:
        """What is known of a version. Raises ConfigError for text that cannot be one, of which nothing is kept."""
        known = self._known.get(api_version)
        if known is None:
            _path(api_version)
            self._forget_missing()
            known = self._known[api_version] = _Known()
        return known

    def _forget_missing(self) -> None:
        """Those whose time is over; and where many are left, the oldest."""
        now = asyncio.get_running_loop().time()
        for version in [one for one, known in self._known.items() if known.is_missing(now - REFRESH_SECONDS)]:
            del self._known[version]
        missing = [one for one, known in self._known.items() if known.is_missing(now)]
        for version in missing[: max(0, len(missing) + 1 - MISSING_REMEMBERED)]:
            del self._known[version]

    async def _preferred_version(self, group: str) -> str:
        if group not in self._preferred:
            path = f"/apis/{safe_segment('group', group)}"
            answer = await self._client.send(Request(method="GET", path=path, resource="apis"))
            self._preferred[group] = str(answer["preferredVersion"]["groupVersion"])
        return self._preferred[group]

    async def _refresh(self, api_version: str, known: _Known) -> None:
        """Ask, unless another caller just did."""
        async with known.asking:
            now = asyncio.get_running_loop().time()
            if now - known.asked < REFRESH_SECONDS:
                return
            request = Request(method="GET", path=_path(api_version), resource="apis")
            with suppress(NotFound):
                known.kinds.update(_parse(api_version, await self._client.send(request)))
            known.asked = now


def _path(api_version: str) -> str:
    if len(api_version) > LONGEST_VERSION:
        text = f"apiVersion: {len(api_version)} characters are no GROUP/VERSION; correct the reference"
        raise ConfigError(text, field="apiVersion")
    segments = [safe_segment("apiVersion", part) for part in api_version.split("/")]
    if len(segments) > 2:
        raise ConfigError(
            f"apiVersion: {api_version!r} is not GROUP/VERSION; correct the reference", field="apiVersion"
        )
    return "/".join(["/apis" if len(segments) == 2 else "/api", *segments])


def _parse(api_version: str, answer: dict[str, Any]) -> dict[str, Served]:
    group, _, version = api_version.rpartition("/")
    entries = answer.get("resources") or []
    scales = {entry["name"].removesuffix("/scale"): entry for entry in entries if entry["name"].endswith("/scale")}
    kinds = {}
    for entry in entries:
        plural = entry["name"]
        if "/" in plural:
            continue
        resource = Resource(
            group=group, version=version, kind=entry["kind"], plural=plural, namespaced=entry["namespaced"]
        )
        scale = scales.get(plural)
        kinds[resource.kind] = Served(resource=resource, scale_api_version=_scale_version(scale) if scale else "")
    return kinds


def _scale_version(entry: dict[str, Any]) -> str:
    """A scale subresource is served in a group and version of its own: autoscaling/v1, extensions/v1beta1."""
    if not entry.get("version"):
        return SCALE_API_VERSION
    return f"{entry['group']}/{entry['version']}" if entry.get("group") else str(entry["version"])
