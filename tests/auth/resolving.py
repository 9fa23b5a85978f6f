"""Parameters that the running operator gives a trigger."""

from dataclasses import dataclass

from pydantic import SecretStr

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import build_spec
from keda_py.kube.resources import Obj
from keda_py.net.secret_texts import EMPTY, plain
from keda_py.sdk.advanced import PodIdentity
from tests.builders import scaled_object
from tests.waiting import eventually
from tests.worlds.world import World


def redis_trigger(authentication: str = "", kind: str = "", **metadata: str) -> Obj:
    trigger: Obj = {"type": "redis", "metadata": {"listName": "jobs", "listLength": "5", **metadata}}
    if authentication:
        trigger["authenticationRef"] = {"name": authentication, **({"kind": kind} if kind else {})}
    return trigger


@dataclass(frozen=True, kw_only=True)
class ResolvedTexts:
    """Parameters of a trigger, unwrapped."""

    env: dict[str, str]
    auth: dict[str, str]
    pod_identity: PodIdentity


async def resolve(
    world: World, trigger: Obj, target: str = "app", namespace: str = "default", **target_ref: str
) -> ResolvedTexts:
    """Resolve a trigger of an object that the running operator does not know yet; every value is wrapped."""
    manifest = scaled_object(trigger, name="asker", namespace=namespace, scaleTargetRef={"name": target, **target_ref})
    spec = build_spec(parse_object(ScaledObject, manifest))
    parts = world.operator.assembly.parts
    caches = parts.caches
    reference = trigger.get("authenticationRef")
    if reference:
        is_cluster_wide = reference.get("kind", "").startswith("Cluster")
        informer = caches.cluster_authentications if is_cluster_wide else caches.authentications
        await eventually(lambda: informer.get("" if is_cluster_wide else namespace, reference["name"]))
    found = await parts.shared.resolver.resolve(spec, 0)
    shown = {repr(text) for text in (*found.env.values(), *found.auth.values())}
    assert shown <= {repr(SecretStr("any")), repr(EMPTY)}, "a value that is not wrapped"
    return ResolvedTexts(env=plain(found.env), auth=plain(found.auth), pod_identity=found.pod_identity)
