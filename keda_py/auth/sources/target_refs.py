"""Sources `secretTargetRef` and `configMapTargetRef`: parameters from keys of Secrets and ConfigMaps.

As in KEDA a missing key is an empty text, not an error; it is noted, and shown with the object that misses it.
"""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthTargetRef, SecretValue
from keda_py.auth.lookup.lookup import Lookup
from keda_py.net.secret_texts import EMPTY, Secrets


async def read_secrets(references: Sequence[AuthTargetRef], lookup: Lookup) -> dict[str, SecretStr]:
    """Read the keys. Raises KubeError if a Secret cannot be read."""
    return {ref.parameter: await read_secret_key(ref.name, ref.key, lookup) for ref in references}


async def read_secret_value(value: SecretValue, lookup: Lookup) -> SecretStr:
    """Read a credential of another provider, from the namespace of the authentication's Secrets."""
    reference = value.value_from.secret_key_ref
    return await read_secret_key(reference.name, reference.key, lookup)


async def read_config_maps(references: Sequence[AuthTargetRef], lookup: Lookup) -> dict[str, SecretStr]:
    """Read the keys. Raises KubeError if a ConfigMap cannot be read."""
    return {
        ref.parameter: _value_of("configmap", ref.name, ref.key, await lookup.config_map(ref.name), lookup)
        for ref in references
    }


async def read_secret_key(name: str, key: str, lookup: Lookup) -> SecretStr:
    """Return one key's text, "" if it is missing."""
    return _value_of("secret", name, key, await lookup.secret(name), lookup)


def _value_of(kind: str, name: str, key: str, data: Secrets | None, lookup: Lookup) -> SecretStr:
    if data is None:
        lookup.note_missing(kind, name)
    elif key not in data:
        lookup.note_missing(f"key of a {kind}", name, key)
    return (data or {}).get(key, EMPTY)
