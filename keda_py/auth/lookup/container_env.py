"""Environment of the scale target's container, as far as it is known without a running pod.

envFrom first, then env, which overrides; behaviour reference, section 11.4. A literal may refer to earlier variables:
with A=1, "$(A)$$(A)$(B)" is "1$(A)$(B)". Values may be secrets, so no error contains one.
"""

import logging

import re2
from pydantic import SecretStr

from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import ContainerEnvironment, EnvFromSource, EnvVar, KeySelector, PodEnvironment
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import EMPTY, Secrets

_REFERENCE = re2.compile(r"\$(?:\$|\(([^)]*)\))")

log = logging.getLogger(__name__)


def find_container(pod: PodEnvironment, name: str) -> ContainerEnvironment | None:
    """Return the container of that name, the first if ""; None for a pod without any. Raises ConfigError if unknown."""
    if not pod.containers:
        return None
    if not name:
        return pod.containers[0]
    for container in (*pod.containers, *pod.init_containers):
        if container.name == name:
            return container
    known = ", ".join(container.name for container in pod.containers)
    raise ConfigError(
        f"couldn't find container with name {name} on Target object: it has {known}",
        field="spec.scaleTargetRef.envSourceContainerName",
    )


async def read_container_env(pod: PodEnvironment, name: str, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the variables by name. Raises ConfigError if a required object is missing, and KubeError."""
    container = find_container(pod, name)
    if container is None:
        return {}
    # In Kubernetes' order, because a later variable overrides an earlier one and may refer to it.
    env: dict[str, SecretStr] = {}
    for source in container.env_from:
        env |= await _read_source(source, lookup)
    for variable in container.env:
        value = await _read_variable(variable, env, lookup)
        if value is not None:
            env[variable.name] = value
    return env


def expand(text: str, env: Secrets) -> SecretStr:
    """Replace `$(NAME)` if the name is known and `$$` by `$`; everything else stays."""

    def replace(match: "re2._Match[str]") -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return env[name].get_secret_value() if name in env else match.group(0)

    return SecretStr(_REFERENCE.sub(replace, text))


async def _read_source(source: EnvFromSource, lookup: Lookup) -> dict[str, SecretStr]:
    found: dict[str, SecretStr] = {}
    namespace = lookup.spec.namespace
    if source.config_map_ref is not None:
        data = await lookup.config_map(source.config_map_ref.name, namespace)
        found |= _existing(data, "ConfigMap", source.config_map_ref.name, optional=source.config_map_ref.optional)
    if source.secret_ref is not None and not _is_withheld(lookup):
        data = await lookup.secret(source.secret_ref.name, namespace)
        found |= _existing(data, "Secret", source.secret_ref.name, optional=source.secret_ref.optional)
    return {f"{source.prefix}{key}": value for key, value in found.items()}


async def _read_variable(variable: EnvVar, env: Secrets, lookup: Lookup) -> SecretStr | None:
    """Read one variable; None if it is skipped."""
    origin = variable.value_from
    if variable.value or origin is None:
        return expand(variable.value, env)
    if origin.secret_key_ref is not None:
        if _is_withheld(lookup):
            return None
        data = await lookup.secret(origin.secret_key_ref.name, lookup.spec.namespace)
        return _key_of(data, "Secret", origin.secret_key_ref)
    if origin.config_map_key_ref is not None:
        data = await lookup.config_map(origin.config_map_key_ref.name, lookup.spec.namespace)
        return _key_of(data, "ConfigMap", origin.config_map_key_ref)
    log.debug("variable from a field of the pod is skipped", extra={"variable": variable.name})
    return None


def _existing(data: Secrets | None, kind: str, name: str, *, optional: bool) -> Secrets:
    if data is None and not optional:
        raise ConfigError(
            f'{kind} "{name}", which the container\'s environment refers to, does not exist: '
            "create it or mark the reference as optional"
        )
    return data or {}


def _key_of(data: Secrets | None, kind: str, selector: KeySelector) -> SecretStr | None:
    """Return the key's text; None if an optional object is missing, so that the value of `envFrom` stays."""
    if data is None and selector.optional:
        return None
    return _existing(data, kind, selector.name, optional=False).get(selector.key, EMPTY)


def _is_withheld(lookup: Lookup) -> bool:
    """Return whether KEDA_RESTRICT_SECRET_ACCESS hides Secrets outside of the operator's own namespace."""
    around = lookup.around
    return around.settings.restrict_secret_access and lookup.spec.namespace != around.object_namespace
