"""Discovery of resources: kind -> resource, one group and version at a time.

A scaleTargetRef names group, version and kind, so one small `GET /apis/GROUP/VERSION` answers it; it is the same on
every server, and a broken aggregated API elsewhere does no harm. Deployments, StatefulSets and ReplicaSets are known
without a request. A missing kind is asked for again, at most once in REFRESH_SECONDS. Tenants choose the versions they
name, so at most MISSING_REMEMBERED unknown ones are remembered, and none for longer than REFRESH_SECONDS.
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
# Characters: a group is a DNS name (253), a version a DNS label (63), with a slash between them.
LONGEST_VERSION = 253 + 1 + 63
SCALE_API_VERSION = "autoscaling/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """Target of a scaleTargetRef: KEDA's GVKR. `scale_api_version` is the wire form of its Scale."""

    group: str
    version: str
    kind: str
    resource: str
    scale_api_version: str = SCALE_API_VERSION

    @property
    def rest(self) -> Resource:
        return Resource(group=self.group, version=self.version, kind=self.kind, plural=self.resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResource:
    """Resource of a group and version; `scale_api_version` is "" if it has no scale subresource."""

    resource: Resource
    scale_api_version: str = ""


@dataclass(slots=True)
class _ServedKinds:
    """Resources that one group and version serves, by kind; empty if the server does not know the version."""

    kinds: dict[str, ServedResource] = field(default_factory=dict)
    asked: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_missing(self, since: float) -> bool:
        """Return whether it has no kinds, was last asked for before `since`, and no request is under way."""
        return not self.kinds and self.asked <= since and not self.asking.locked()


_SEEDS = {
    served.kind: ServedResource(resource=served, scale_api_version=SCALE_API_VERSION)
    for served in (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)
}


class Discovery:
    """Cached answers; one request at a time for each group and version."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._known: dict[str, _ServedKinds] = {"apps/v1": _ServedKinds(kinds=dict(_SEEDS))}
        self._preferred: dict[str, str] = {}

    async def scale_target(self, api_version: str, kind: str) -> ScaleTarget:
        """Return the target of a scaleTargetRef; "" stands for apps/v1 and Deployment.

        Raises NotFound if the kind is not served. `read_scale` finds out whether it can be scaled.
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

    async def find(self, api_version: str, kind: str) -> ServedResource:
        """Return the resource of a kind. Raises NotFound, or ConfigError for a malformed apiVersion."""
        known = self._remember(api_version)
        if kind not in known.kinds:
            await self._refresh(api_version, known)
        if kind not in known.kinds:
            raise NotFound(f'no matches for kind "{kind}" in version "{api_version}"', status=404, reason="NoMatch")
        return known.kinds[kind]

    async def resource(self, name: str) -> Resource:
        """Find a resource by plural name: `secrets`, or `endpointslices.discovery.k8s.io` in the preferred version."""
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
        """Return the number of versions that are remembered."""
        return len(self._known)

    def _remember(self, api_version: str) -> _ServedKinds:
        """Return the entry of a version, made if missing. Raises ConfigError for malformed text, which is not kept."""
        known = self._known.get(api_version)
        if known is None:
            _path(api_version)
            self._forget_missing()
            known = self._known[api_version] = _ServedKinds()
        return known

    def _forget_missing(self) -> None:
        """Forget expired unknown versions, and the oldest of them above MISSING_REMEMBERED."""
        now = asyncio.get_running_loop().time()
        for version in [name for name, known in self._known.items() if known.is_missing(now - REFRESH_SECONDS)]:
            del self._known[version]
        missing = [name for name, known in self._known.items() if known.is_missing(now)]
        for version in missing[: max(0, len(missing) + 1 - MISSING_REMEMBERED)]:
            del self._known[version]

    async def _preferred_version(self, group: str) -> str:
        if group not in self._preferred:
            path = f"/apis/{safe_segment('group', group)}"
            answer = await self._client.send(Request(method="GET", path=path, resource="apis"))
            self._preferred[group] = str(answer["preferredVersion"]["groupVersion"])
        return self._preferred[group]

    async def _refresh(self, api_version: str, known: _ServedKinds) -> None:
        """Ask the server for the version's resources, unless another caller did so within REFRESH_SECONDS."""
        # A lock per version: a silent aggregated API must not delay the others.
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
        text = f"apiVersion: {len(api_version)} characters are too long for GROUP/VERSION; correct the reference"
        raise ConfigError(text, field="apiVersion")
    segments = [safe_segment("apiVersion", part) for part in api_version.split("/")]
    if len(segments) > 2:
        raise ConfigError(
            f"apiVersion: {api_version!r} is not GROUP/VERSION; correct the reference", field="apiVersion"
        )
    return "/".join(["/apis" if len(segments) == 2 else "/api", *segments])


def _parse(api_version: str, answer: dict[str, Any]) -> dict[str, ServedResource]:
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
        kinds[resource.kind] = ServedResource(
            resource=resource, scale_api_version=_scale_version(scale) if scale else ""
        )
    return kinds


def _scale_version(entry: dict[str, Any]) -> str:
    """Return the version of a scale subresource, which has one of its own: autoscaling/v1, extensions/v1beta1."""
    if not entry.get("version"):
        return SCALE_API_VERSION
    return f"{entry['group']}/{entry['version']}" if entry.get("group") else str(entry["version"])
