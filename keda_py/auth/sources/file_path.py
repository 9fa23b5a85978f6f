"""Source `filePath` of a ClusterTriggerAuthentication: a JSON file of parameters below --filepath-auth-root-path.

It replaces every other source. The file is read whenever the trigger is resolved.
"""

import asyncio
from pathlib import Path

import orjson
from pydantic import SecretStr

from keda_py.auth.lookup.lookup import Lookup
from keda_py.errors import ConfigError
from keda_py.net.secret_texts import as_secrets

_FIELD = "spec.filePath"


async def read_file(path: str, lookup: Lookup, kind: str) -> dict[str, SecretStr]:
    """Read the parameters. Raises ConfigError without the file's content; `kind` is that of the reference."""
    if kind != "ClusterTriggerAuthentication":
        raise ConfigError(
            f"filePath is only supported for ClusterTriggerAuthentication, got kind: {kind}", field=_FIELD
        )
    root = lookup.around.settings.file_auth_root
    if not root:
        raise ConfigError(
            f'filePath "{path}": start the operator with --filepath-auth-root-path to allow files', field=_FIELD
        )
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ConfigError(f'filePath "{path}": must be relative and without ".."', field=_FIELD)
    return await asyncio.to_thread(_read, Path(root), path)


def _read(root: Path, path: str) -> dict[str, SecretStr]:
    try:
        real = (root / path).resolve(strict=True)
        # Checked after symlinks are resolved: a link inside the folder may point out of it.
        if not real.is_relative_to(root.resolve()):
            raise ConfigError(f'filePath "{path}": leads out of --filepath-auth-root-path', field=_FIELD)
        found = orjson.loads(real.read_bytes())
    except OSError as error:
        raise ConfigError(f'filePath "{path}" cannot be read: {error.strerror}', field=_FIELD) from None
    except orjson.JSONDecodeError:
        found = None
    except ValueError:  # the name contains a null byte
        raise ConfigError(f'filePath "{path!r}": is not a file name; write a relative path', field=_FIELD) from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ConfigError(f'filePath "{path}": must hold one JSON object whose values are texts', field=_FIELD)
    return as_secrets(found)
