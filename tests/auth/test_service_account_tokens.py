"""File that a TriggerAuthentication names for Vault."""

import base64
from pathlib import Path

import pytest

from keda_py.auth.sources.service_account_tokens import read_service_account_file
from keda_py.errors import ConfigError


async def test_a_file_larger_than_any_token_is_not_read_to_its_end(tmp_path: Path) -> None:
    claims = base64.urlsafe_b64encode(b'{"sub": "system:serviceaccount:keda:keda-operator"}').decode().rstrip("=")
    token, file = f"head.{claims}.signature", tmp_path / "token"
    file.write_text(f"{token}\n")
    assert (await read_service_account_file(str(file))).get_secret_value() == token
    file.write_text(token + 70_000 * "\n")
    with pytest.raises(ConfigError, match="is over 65536 bytes, so no token"):
        await read_service_account_file(str(file))
