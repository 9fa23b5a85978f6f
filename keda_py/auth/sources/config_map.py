"""Source `configMapTargetRef`: parameters from keys of ConfigMaps. A missing key is an empty text."""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthTargetRef
from keda_py.auth.lookup.lookup import Lookup
from keda_py.net.secret_texts import EMPTY


async def read_config_maps(references: Sequence[AuthTargetRef], lookup: Lookup) -> dict[str, SecretStr]:
    """Read the keys. Raises KubeError if a ConfigMap cannot be read."""
    return {reference.parameter: await _read_key(reference, lookup) for reference in references}


async def _read_key(reference: AuthTargetRef, lookup: Lookup) -> SecretStr:
    data = await lookup.config_map(reference.name)
    if data is None:
        lookup.note_missing("configmap", reference.name)
    elif reference.key not in data:
        lookup.note_missing("key of a configmap", reference.name, reference.key)
    return (data or {}).get(reference.key, EMPTY)
