"""`secretTargetRef`: parameters from keys of Secrets. What is missing is an empty text: absent."""

from collections.abc import Sequence

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import AuthTargetRef, SecretValue
from keda_py.auth.lookup.lookup import Lookup
from keda_py.net.secret_texts import EMPTY


async def read_secrets(references: Sequence[AuthTargetRef], lookup: Lookup) -> dict[str, SecretStr]:
    """Raises KubeError when a Secret cannot be known."""
    return {one.parameter: await read_secret_key(one.name, one.key, lookup) for one in references}


async def read_secret_value(value: SecretValue, lookup: Lookup) -> SecretStr:
    """A credential of another provider; its Secret is where those of the authentication are."""
    reference = value.value_from.secret_key_ref
    return await read_secret_key(reference.name, reference.key, lookup)


async def read_secret_key(name: str, key: str, lookup: Lookup) -> SecretStr:
    """One key's text, "" where it is missing."""
    data = await lookup.secret(name)
    if data is None:
        lookup.note_missing("secret", name)
    elif key not in data:
        lookup.note_missing("key of a secret", name, key)
    return (data or {}).get(key, EMPTY)
