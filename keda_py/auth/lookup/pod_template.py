"""Pod template of a scale target, reduced to what authentication reads: environment and ServiceAccount.

The operator's caches keep this of every workload as compact JSON (`keep_pod`): objects would need ten times the memory.
Read by `container_env.py` and `auth/sources/pod_identity.py`.
"""

import orjson

from keda_py.apis.foreign import maps_at, text_at, value_at
from keda_py.apis.parsing import parse_object
from keda_py.apis.squeezed import compact_json
from keda_py.apis.wire import Wire
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj

_CONTAINER_LISTS = ("containers", "initContainers")


class KeySelector(Wire):
    """Reference to one key of a Secret or ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool = False


class EnvVarSource(Wire):
    """Source of a variable's value; both None: a field of the pod, which is unknown here."""

    secret_key_ref: KeySelector | None = None
    config_map_key_ref: KeySelector | None = None


class EnvVar(Wire):
    """Environment variable, literal or by reference."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class ObjectSelector(Wire):
    """Reference to a whole Secret or ConfigMap."""

    name: str = ""
    optional: bool = False


class EnvFromSource(Wire):
    """Source of one variable for each key of an object."""

    prefix: str = ""
    config_map_ref: ObjectSelector | None = None
    secret_ref: ObjectSelector | None = None


class ContainerEnvironment(Wire):
    """Container, reduced to its environment."""

    name: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()


class PodEnvironment(Wire):
    """Reduced `spec.template.spec`."""

    service_account_name: str = ""
    containers: tuple[ContainerEnvironment, ...] = ()
    init_containers: tuple[ContainerEnvironment, ...] = ()


def keep_pod(live: Obj) -> bytes:
    """Write a workload's reduced pod template, b"" if it has none; equal bytes are equal templates."""
    pod = value_at(live, "spec", "template", "spec")
    if not isinstance(pod, dict):
        return b""
    kept = {name: [_environment(container) for container in maps_at(pod, name)] for name in _CONTAINER_LISTS}
    return compact_json({**kept, "serviceAccountName": text_at(pod, "serviceAccountName")})


def _environment(container: Obj) -> Obj:
    return {name: container[name] for name in ("name", "env", "envFrom") if container.get(name)}


def read_pod(kept: bytes) -> PodEnvironment | None:
    """Parse a reduced template; None for a workload without one, or with a malformed one."""
    try:
        return parse_object(PodEnvironment, orjson.loads(kept)) if kept else None
    except ConfigError:
        return None
