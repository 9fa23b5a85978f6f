"""Order of the sources of one (Cluster)TriggerAuthentication: as in KEDA, a later one overwrites the same parameter.

The order is that of the behaviour reference, section 11.1; `filePath` replaces all others. One provider per file.
"""

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import TriggerAuthenticationSpec
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodEnvironment
from keda_py.auth.sources.aws_secret_manager import read_aws
from keda_py.auth.sources.azure_key_vault import read_azure
from keda_py.auth.sources.env import read_environment
from keda_py.auth.sources.file_path import read_file
from keda_py.auth.sources.gcp_secret_manager import read_gcp
from keda_py.auth.sources.hashi_corp_vault import read_vault
from keda_py.auth.sources.oauth2 import read_oauth2
from keda_py.auth.sources.pod_identity import read_pod_identity
from keda_py.auth.sources.service_account_tokens import read_bound_tokens
from keda_py.auth.sources.target_refs import read_config_maps, read_secrets


async def read_sources(
    spec: TriggerAuthenticationSpec, kind: str, pod: PodEnvironment | None, lookup: Lookup
) -> dict[str, SecretStr]:
    """Read all parameters. Raises ConfigError, KubeError, or ScalerError if a vault does not answer."""
    found = await read_pod_identity(spec.pod_identity, pod, lookup)
    found |= await read_environment(spec.env, pod, lookup)
    # As in KEDA, a file replaces everything that was found before it.
    if spec.file_path:
        return await read_file(spec.file_path, lookup, kind)
    found |= await read_config_maps(spec.config_map_target_ref, lookup)
    found |= await read_secrets(spec.secret_target_ref, lookup)
    found |= await _read_vaults(spec, pod, lookup)
    found |= await read_bound_tokens(spec.bound_service_account_token, lookup)
    if spec.oauth2:
        found |= await read_oauth2(spec.oauth2, lookup)
    return found


async def _read_vaults(
    spec: TriggerAuthenticationSpec, pod: PodEnvironment | None, lookup: Lookup
) -> dict[str, SecretStr]:
    found: dict[str, SecretStr] = {}
    if spec.hashi_corp_vault:
        found |= await read_vault(spec.hashi_corp_vault, lookup)
    if spec.azure_key_vault:
        found |= await read_azure(spec.azure_key_vault, lookup)
    if spec.gcp_secret_manager:
        found |= await read_gcp(spec.gcp_secret_manager, lookup)
    if spec.aws_secret_manager:
        found |= await read_aws(spec.aws_secret_manager, pod, lookup)
    return found
