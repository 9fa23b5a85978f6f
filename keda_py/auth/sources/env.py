"""`env`: parameters from the environment of the scale target. What cannot be found is an empty text, never an error."""

from collections.abc import Sequence

from keda_py.apis.trigger_authentication import AuthEnvironment
from keda_py.auth.lookup.container_env import read_container_env
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodTemplate
from keda_py.errors import ConfigError


async def read_environment(
    entries: Sequence[AuthEnvironment], pod: PodTemplate | None, lookup: Lookup
) -> dict[str, str]:
    """Raises KubeError when an object that a variable comes from cannot be known."""
    environments: dict[str, dict[str, str]] = {}
    for container in {entry.container_name for entry in entries}:
        try:
            environments[container] = await read_container_env(pod, container, lookup) if pod else {}
        except ConfigError:
            environments[container] = {}
    return {entry.parameter: _find(environments[entry.container_name], entry, lookup) for entry in entries}


def _find(env: dict[str, str], entry: AuthEnvironment, lookup: Lookup) -> str:
    if entry.name not in env:
        lookup.note_missing("environment variable", entry.name)
    return env.get(entry.name, "")
