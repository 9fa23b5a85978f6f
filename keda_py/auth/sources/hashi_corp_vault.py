"""Source `hashiCorpVault`: secrets of the engines kv 1 and 2, and certificates of engine pki.

Log in by token or as a ServiceAccount, then read each path once. A missing path or key is an empty text; every other
failure is raised. VAULT_TOKEN and the tokens in files are the operator's own identity: `net/operator_identity.py`
decides where they may go. In KEDA they go anywhere, and VAULT_TOKEN takes precedence over a token in the object; here
it does so only in a ClusterTriggerAuthentication.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import HashiCorpVault, VaultPkiData, VaultSecret
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.service_account_tokens import LIFE_USED, read_service_account_file, request_token
from keda_py.cloud.http_calls import HttpCall, HttpReply, Sent, ask
from keda_py.core.values.urls import path_segments
from keda_py.errors import ConfigError
from keda_py.net.credential_keys import Secret
from keda_py.net.operator_identity import Destination
from keda_py.net.secret_texts import EMPTY, SecretData

_FIELD = "spec.hashiCorpVault"
_PLAIN = "$&+,:;=@"
"""Characters that a path may have as they are."""


async def read_vault(vault: HashiCorpVault, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the secrets. Raises ConfigError for errors of the user, ScalerError if Vault refuses or does not answer."""
    session = _Session(vault=vault, lookup=lookup, login=await _log_in(vault, lookup))
    found: dict[str, SecretStr] = {}
    read: dict[tuple[str, bool, VaultPkiData | None], SecretData] = {}
    for secret in vault.secrets:
        # Certificate and key must be from the same issue, so equal requests are sent once.
        question = (secret.path, secret.type == "pki", secret.pki_data)
        if question not in read:
            read[question] = await (session.issue(secret) if secret.type == "pki" else session.read(secret))
        found[secret.parameter] = _value_of(secret, read[question], lookup)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _VaultLogin:
    """Token of Vault, and the credential that it was issued for, which stays the same when the token changes."""

    token: SecretStr
    credential: tuple[Secret, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """Vault and the login for it."""

    vault: HashiCorpVault
    lookup: Lookup
    login: _VaultLogin

    async def read(self, secret: VaultSecret) -> SecretData:
        """Return the data of a path; {} if it has none."""
        return _data_of(await ask(self._question(_path_of(secret)), self.lookup.around.http))

    async def issue(self, secret: VaultSecret) -> SecretData:
        """Issue a certificate; one is reused for a minute, and replaced before it expires."""
        wanted = (secret.pki_data or VaultPkiData()).model_dump()
        form = {name: str(value) for name, value in wanted.items() if value}
        question = self._question(_path_of(secret), form)

        async def ask_for_it() -> SecretData:
            return _data_of(await ask(question, self.lookup.around.http))

        details = (f"{name}={value}" for name, value in sorted(form.items()))
        what = ("vault certificate", self.vault.address, self.vault.namespace, secret.path, *details)
        # By the credential and not by Vault's token, which differs at each login.
        key = self.lookup.key(what, *self.login.credential)
        data = await self.lookup.around.certificates.get(key, ask_for_it)
        if isinstance(ends := data.get_secret_value().get("expiration"), int | float):
            self.lookup.resolve_again_in(max(LIFE_USED * (ends - self.lookup.around.clock.now().timestamp()), 0.0))
        return data

    def _question(self, path: str, form: Mapping[str, str] | None = None) -> HttpCall:
        return _question(self.vault, path, {"X-Vault-Token": self.login.token}, form)


def _question(
    vault: HashiCorpVault,
    path: str,
    headers: Sent,
    form: Sent | None = None,
) -> HttpCall:
    namespace = {"X-Vault-Namespace": vault.namespace} if vault.namespace else {}
    url = f"{vault.address.rstrip('/')}/v1/{path}"
    return HttpCall(url=url, headers={"X-Vault-Request": "true", **namespace, **headers}, json=form)


def _path_of(secret: VaultSecret) -> str:
    """Quote it as Vault's own client does, which drops empty segments, too; refuse a step out of the engine."""
    path = "/".join(filter(None, secret.path.split("/")))
    return path_segments(f"{_FIELD}.secrets.path", path, safe=_PLAIN)


async def _log_in(vault: HashiCorpVault, lookup: Lookup) -> _VaultLogin:
    if vault.authentication == "token":
        token = _token(vault, lookup)
        return _VaultLogin(token=token, credential=("token", token))
    mount, role = vault.mount or _refuse("mount", "auth mount not in config: set it"), vault.role
    mount = path_segments(f"{_FIELD}.mount", mount.strip("/"), safe=_PLAIN)
    role = role or _refuse("role", "k8s role not in config: set it")
    jwt, holder = await _jwt(vault, lookup)

    async def log_in() -> SecretStr:
        form: dict[str, str | SecretStr] = {"jwt": jwt, "role": role}
        answer = await ask(_question(vault, f"auth/{mount}/login", {}, form), lookup.around.http)
        token = answer.secret("auth", "client_token")
        if answer.status >= 400 or not token:
            raise answer.refusal()
        return token

    credential = ("kubernetes", mount, role, *holder)
    key = lookup.key(("vault login", vault.address, vault.namespace), *credential)
    return _VaultLogin(token=await lookup.around.logins.get(key, log_in), credential=credential)


def _token(vault: HashiCorpVault, lookup: Lookup) -> SecretStr:
    """Return the object's own token, or VAULT_TOKEN if that takes precedence or there is no other."""
    own = vault.credential.token if vault.credential and vault.credential.token else EMPTY
    operators = SecretStr(os.environ.get("VAULT_TOKEN", ""))
    first = lookup.around.identities.puts_operator_first(by_installation=lookup.cluster_wide)
    if own and not (first and operators):
        return own
    if not operators:
        _refuse("credential.token", "is missing: set it, or VAULT_TOKEN in the operator's environment")
    lookup.check_identity("VAULT_TOKEN", _destination(vault))
    return operators


async def _jwt(vault: HashiCorpVault, lookup: Lookup) -> tuple[SecretStr, tuple[Secret, ...]]:
    """Return a ServiceAccount's token, and its stable identity: a requested token changes every minute."""
    credential = vault.credential
    if credential and (name := credential.service_account_name):
        namespace = lookup.spec.namespace
        return await request_token(namespace, name, lookup), ("account", namespace, name)
    path = credential.service_account if credential else ""
    # Checked before the file is read: otherwise the error would tell a tenant which files exist.
    lookup.check_identity("ServiceAccount token", _destination(vault))
    jwt = await read_service_account_file(path)
    return jwt, ("file", path, jwt)


def _destination(vault: HashiCorpVault) -> Destination:
    return Destination(url=vault.address, field=f"{_FIELD}.address")


def _refuse(field_name: str, text: str) -> NoReturn:
    raise ConfigError(f"hashiCorpVault.{field_name} {text}", field=f"{_FIELD}.{field_name}")


def _data_of(answer: HttpReply) -> SecretData:
    if answer.status == 404:
        return SecretData({})
    if answer.status >= 400:
        raise answer.refusal()
    data = answer.body.get("data")
    return SecretData(data if isinstance(data, dict) else {})


def _value_of(secret: VaultSecret, wrapped: SecretData, lookup: Lookup) -> SecretStr:
    """Return one key's text. Without a type the engine is detected: version 2 has everything below `data`."""
    data = wrapped.get_secret_value()
    inner = data.get("data")
    if secret.type == "secretV2" or (not secret.type and isinstance(inner, dict)):
        data = inner if isinstance(inner, dict) else {}
    value = data.get(secret.key)
    if secret.type == "pki" and isinstance(value, Sequence) and not isinstance(value, str):
        return SecretStr("\n".join(str(item) for item in value))
    if not isinstance(value, str):
        lookup.note_missing("key of a vault secret", secret.path, secret.key)
        return EMPTY
    return SecretStr(value)
