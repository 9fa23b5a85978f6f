"""Source `env`: parameters from the environment of the scale target. A missing variable is an empty text, never an
error.
"""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthEnvironment
from keda_py.auth.lookup.container_env import read_container_env
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodEnvironment
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import EMPTY, Secrets


async def read_environment(
    entries: Sequence[AuthEnvironment], pod: PodEnvironment | None, lookup: Lookup
) -> dict[str, SecretStr]:
    """Read the variables. Raises KubeError if an object that a variable comes from cannot be read."""
    environments: dict[str, Secrets] = {}
    for container in {entry.container_name for entry in entries}:
        try:
            environments[container] = await read_container_env(pod, container, lookup) if pod else {}
        except ConfigError:
            environments[container] = {}
    return {entry.parameter: _find(environments[entry.container_name], entry, lookup) for entry in entries}


def _find(env: Secrets, entry: AuthEnvironment, lookup: Lookup) -> SecretStr:
    if entry.name not in env:
        lookup.note_missing("environment variable", entry.name)
    return env.get(entry.name, EMPTY)
