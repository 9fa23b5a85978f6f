"""Resolver of the operator: a trigger's environment and the parameters of its (Cluster)TriggerAuthentication.

`readings/scaler_set.py` calls it to build a scaler, and again after a failed reading; nothing is read per poll.
`subscribe` reports which triggers were built from an object that has changed, so that a rotated secret reaches its
scalers at once. Next: `sources/all_sources.py`, the order in which sources overwrite each other.
"""

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from keda_py.apis.parsing import parse_object
from keda_py.apis.trigger_authentication import TriggerAuthentication, TriggerAuthenticationSpec
from keda_py.apis.wire import AuthenticationRef
from keda_py.auth.lookup.container_env import find_container, read_container_env
from keda_py.auth.lookup.dependencies import Dependencies, User
from keda_py.auth.lookup.lookup import Lookup, ResolverContext, Troubles, tell_trouble
from keda_py.auth.lookup.pod_template import PodEnvironment
from keda_py.auth.lookup.target_pods import POD, TargetPods
from keda_py.auth.resolver import Resolved
from keda_py.auth.sources.all_sources import read_sources
from keda_py.auth.sources.pod_identity import needs_service_account, pod_identity_of
from keda_py.clock import Timer
from keda_py.core.spec import TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.named_watches import Reference
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, TRIGGER_AUTHENTICATIONS, Obj, Resource
from keda_py.net.secret_texts import Secrets

CLUSTER_KIND = "ClusterTriggerAuthentication"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverCaches:
    """Informers that the resolver reads; `workloads` by plural, of objects that keep their pod template."""

    authentications: Informer
    cluster_authentications: Informer
    workloads: Mapping[str, Informer]


class ClusterResolver:
    """Resolver for the triggers of all objects of a cluster."""

    def __init__(self, around: ResolverContext, caches: ResolverCaches, pods: TargetPods) -> None:
        self._around, self._caches, self._pods = around, caches, pods
        cached = [informer.spec.resource for informer in caches.workloads.values()]
        self._dependencies = Dependencies(around.watches, cached)
        self._timers: dict[User, Timer] = {}
        self._troubles: dict[User, Troubles] = {}
        self._subscribers: list[Callable[[ObjectKey, int], None]] = []

    def subscribe(self, notify: Callable[[ObjectKey, int], None]) -> None:
        """Call `notify(key, trigger index)` on the loop when an object a trigger was resolved from has changed."""
        if not self._subscribers:
            self._follow()
        self._subscribers.append(notify)

    def forget(self, key: ObjectKey) -> None:
        """Stop following anything for a deleted object."""
        self._dependencies.keep_triggers(key, 0)
        for user in [user for user in self._timers if user[0] == key]:
            self._timers.pop(user).cancel()
        for user in [user for user in self._troubles if user[0] == key]:
            del self._troubles[user]

    def troubles(self, key: ObjectKey) -> tuple[str, ...]:
        """Return the problems of the object's last resolution: a sentence each, without any value."""
        found = sorted((index, troubles) for (owner, index), troubles in self._troubles.items() if owner == key)
        return tuple(f"trigger {index}: {tell_trouble(trouble)}" for index, each in found for trouble in each.values())

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        """Resolve the current values. Raises ConfigError, KubeError, or ScalerError if a vault does not answer."""
        lookup = Lookup(
            around=self._around,
            dependencies=self._dependencies,
            spec=spec,
            index=trigger_index,
            namespace=spec.namespace,
        )
        try:
            resolved = await self._resolve(spec, lookup)
        except ConfigError:
            self._settle(lookup)
            raise
        self._settle(lookup)
        return resolved

    async def _resolve(self, spec: TriggersSpec, lookup: Lookup) -> Resolved:
        trigger = spec.triggers[lookup.index]
        reference = trigger.authentication_ref
        found = self._find(reference, lookup) if reference else None
        takes_env = any("FromEnv" in key for key in trigger.metadata) or bool(found and found.env)
        pod = None
        container = self._pods.container(spec)
        if takes_env or container or (found and _uses_service_account(found)):
            pod = await self._pods.find(lookup)
        env = await _read_env(pod, container, lookup, takes_env=takes_env)
        if pod is not None and (read_from := find_container(pod, container)) is not None:
            _note_missing_variables(trigger.metadata, env, read_from.name, lookup)
        if found is None or reference is None:
            return Resolved(env=env)
        if reference.kind == CLUSTER_KIND:
            # Secrets of a ClusterTriggerAuthentication are in the operator's namespace, not in the trigger's.
            lookup.namespace, lookup.cluster_wide = self._around.object_namespace, True
        auth = await read_sources(found, reference.kind, pod, lookup)
        return Resolved(env=env, auth=auth, pod_identity=pod_identity_of(found.pod_identity, lookup))

    def _find(self, reference: AuthenticationRef, lookup: Lookup) -> TriggerAuthenticationSpec | None:
        """Return the authentication referred to; None if it is missing, which is logged but, as in KEDA, no error."""
        if reference.kind == CLUSTER_KIND:
            namespace, informer = "", self._caches.cluster_authentications
        else:
            namespace, informer = lookup.spec.namespace, self._caches.authentications
        lookup.note(Reference(informer.spec.resource, namespace, reference.name))
        live = informer.get(namespace, reference.name)
        if live is None:
            lookup.note_missing(reference.kind or "TriggerAuthentication", reference.name)
            return None
        return parse_object(TriggerAuthentication, live).spec

    def _settle(self, lookup: Lookup) -> None:
        """Replace the trigger's dependencies by those of this resolution, and schedule the next one if it expires."""
        user, key = lookup.user, lookup.user[0]
        # After a failed resolution too: the object that was missing is followed, and its creation triggers the next
        # one.
        self._dependencies.keep_only(user, lookup.found)
        if lookup.index == 0:  # once per build of an object: the scan takes time proportional to its triggers
            self._dependencies.keep_triggers(key, len(lookup.spec.triggers))
        self._tell_troubles(lookup)
        if timer := self._timers.pop(user, None):
            timer.cancel()
        if lookup.valid_for < math.inf:
            self._timers[user] = self._around.clock.call_later(lookup.valid_for, lambda: self._notify_users([user]))

    def _tell_troubles(self, lookup: Lookup) -> None:
        before = self._troubles.pop(lookup.user, {})
        if lookup.troubles:
            self._troubles[lookup.user] = lookup.troubles
        trigger_fields = lookup.user[0].log_fields | {"trigger": lookup.index}
        for trouble, about in lookup.troubles.items():
            if trouble not in before:
                fields = {name: text for name, text in about.items() if name != "message"}
                log.warning(about["message"], extra=trigger_fields | fields)

    def _follow(self) -> None:
        self._around.watches.subscribe(self._on_change)
        self._caches.authentications.subscribe(self._on_authentication)
        self._caches.cluster_authentications.subscribe(self._on_authentication)
        for informer in self._caches.workloads.values():
            informer.subscribe(partial(self._on_workload, informer.spec.resource))

    def _on_change(self, reference: Reference) -> None:
        self._notify_users(self._dependencies.users(reference))

    def _on_authentication(self, old: Obj | None, new: Obj | None) -> None:
        if old is None or new is None or old.get("spec") != new.get("spec"):
            live = new or old or {}
            namespace = live["metadata"].get("namespace", "")
            resource = TRIGGER_AUTHENTICATIONS if namespace else CLUSTER_TRIGGER_AUTHENTICATIONS
            self._on_change(Reference(resource, namespace, live["metadata"]["name"]))

    def _on_workload(self, resource: Resource, old: Obj | None, new: Obj | None) -> None:
        if new is not None and (old is None or old[POD] != new[POD]):
            self._on_change(Reference(resource, new["metadata"]["namespace"], new["metadata"]["name"]))

    def _notify_users(self, users: Iterable[User]) -> None:
        for key, index in users:
            for notify in self._subscribers:
                notify(key, index)


def _uses_service_account(spec: TriggerAuthenticationSpec) -> bool:
    manager = spec.aws_secret_manager
    return needs_service_account(spec.pod_identity) or needs_service_account(manager.pod_identity if manager else None)


def _note_missing_variables(metadata: Mapping[str, str], env: Secrets, container: str, lookup: Lookup) -> None:
    """Report keys that name a missing variable: as in KEDA they count as empty, which is seldom intended."""
    for key, variable in metadata.items():
        if key.endswith("FromEnv") and variable and variable not in env:
            about = {"kind": "container", "source": container, "key": variable, "reader": key}
            lookup.note_trouble("variable of the environment is missing", **about)


async def _read_env(pod: PodEnvironment | None, container: str, lookup: Lookup, *, takes_env: bool) -> Secrets:
    if pod is None:
        return {}
    try:
        if takes_env:
            return await read_container_env(pod, container, lookup)
        find_container(pod, container)
    except ConfigError as error:
        raise ConfigError(f"error resolving secrets for ScaleTarget: {error}", field=error.field) from error
    return {}
