"""All sources of one (Cluster)TriggerAuthentication in KEDA's order: a later one overwrites the same parameter.

The order is that of the behaviour reference, section 11.1; `filePath` stands for all others. One provider per file.
"""

from keda_py.apis.trigger_authentication import TriggerAuthenticationSpec
from keda_py.auth.config_map import read_config_maps
from keda_py.auth.env import read_environment
from keda_py.auth.file_path import read_file
from keda_py.auth.lookup import Lookup
from keda_py.auth.oauth2 import read_oauth2
from keda_py.auth.pod_identity import read_pod_identity
from keda_py.auth.pod_template import PodTemplate
from keda_py.auth.secret import read_secrets


async def read_sources(
    spec: TriggerAuthenticationSpec, kind: str, pod: PodTemplate | None, lookup: Lookup
) -> dict[str, str]:
    """The parameters. Raises ConfigError, KubeError, and ScalerError where a vault does not answer."""
    found = await read_pod_identity(spec.pod_identity, pod, lookup)
    found |= await read_environment(spec.env, pod, lookup)
    if spec.file_path:
        return await read_file(spec.file_path, lookup, kind)
    found |= await read_config_maps(spec.config_map_target_ref, lookup)
    found |= await read_secrets(spec.secret_target_ref, lookup)
    if spec.oauth2:
        found |= await read_oauth2(spec.oauth2, lookup)
    return found
