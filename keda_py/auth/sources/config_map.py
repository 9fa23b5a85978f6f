"""`configMapTargetRef`: parameters from keys of ConfigMaps. What is missing is an empty text: absent."""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthTargetRef
from keda_py.auth.lookup.lookup import Lookup
from keda_py.net.secret_texts import EMPTY


async def read_config_maps(references: Sequence[AuthTargetRef], lookup: Lookup) -> dict[str, SecretStr]:
    """Raises KubeError when a ConfigMap cannot be known."""
    return {one.parameter: await _read_key(one, lookup) for one in references}


async def _read_key(reference: AuthTargetRef, lookup: Lookup) -> SecretStr:
    data = await lookup.config_map(reference.name)
    if data is None:
        lookup.note_missing("configmap", reference.name)
    elif reference.key not in data:
        lookup.note_missing("key of a configmap", reference.name, reference.key)
    return (data or {}).get(reference.key, EMPTY)
