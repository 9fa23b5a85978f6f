"""Of a scale target's pod template what authentication reads: the containers' environment and the ServiceAccount.

The operator's caches keep exactly this of every workload, as compact JSON (`keep_pod`): objects would need ten times
the memory. Read by `container_env.py` and `auth/sources/pod_identity.py`.
"""

import orjson

from keda_py.apis.compact import compact_json
from keda_py.apis.foreign import maps_at, text_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.apis.wire import Wire
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj

_CONTAINER_LISTS = ("containers", "initContainers")


class KeySelector(Wire):
    """A key of a Secret or ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool = False


class EnvVarSource(Wire):
    """Where a variable's value comes from; both None: from a field of the pod, which is not known here."""

    secret_key_ref: KeySelector | None = None
    config_map_key_ref: KeySelector | None = None


class EnvVar(Wire):
    """One variable."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class ObjectSelector(Wire):
    """A whole Secret or ConfigMap."""

    name: str = ""
    optional: bool = False


class EnvFromSource(Wire):
    """A variable for each key of an object."""

    prefix: str = ""
    config_map_ref: ObjectSelector | None = None
    secret_ref: ObjectSelector | None = None


class Container(Wire):
    """A container's environment."""

    name: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()


class PodTemplate(Wire):
    """What is kept of `spec.template.spec`."""

    service_account_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()


def keep_pod(live: Obj) -> bytes:
    """What is kept of a workload's pod template, b"" where it has none; equal texts are equal templates."""
    pod = value_at(live, "spec", "template", "spec")
    if not isinstance(pod, dict):
        return b""
    kept = {name: [_environment(one) for one in maps_at(pod, name)] for name in _CONTAINER_LISTS}
    return compact_json({**kept, "serviceAccountName": text_at(pod, "serviceAccountName")})


def _environment(container: Obj) -> Obj:
    return {name: container[name] for name in ("name", "env", "envFrom") if container.get(name)}


def read_pod(kept: bytes) -> PodTemplate | None:
    """The template; None for a workload without one that looks like a pod's."""
    try:
        return parse_object(PodTemplate, orjson.loads(kept)) if kept else None
    except ConfigError:
        return None
