"""Of a scale target's pod template what authentication reads: the containers' environment and the ServiceAccount.

The operator's caches keep exactly this of every workload, as compact JSON (`keep_pod`): objects would need ten times
the memory. Read by `container_env.py` and `pod_identity.py`.
"""

import orjson

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
    spec = live.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    pod = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(pod, dict):
        return b""
    kept = {name: [_environment(one) for one in pod.get(name) or ()] for name in _CONTAINER_LISTS}
    return orjson.dumps({**kept, "serviceAccountName": pod.get("serviceAccountName") or ""})


def _environment(container: object) -> dict[str, object]:
    found = container if isinstance(container, dict) else {}
    return {name: found[name] for name in ("name", "env", "envFrom") if found.get(name)}


def read_pod(kept: bytes) -> PodTemplate | None:
    """The template; None for a workload without one that looks like a pod's."""
    try:
        return parse_object(PodTemplate, orjson.loads(kept)) if kept else None
    except ConfigError:
        return None
