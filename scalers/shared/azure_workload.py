"""Azure workload identity: the operator's projected token, exchanged for one that an Azure service takes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from keda_py.sdk.scaler import (
    ConfigError,
    CredentialKey,
    Destination,
    PodIdentity,
    ScalerContext,
    ScalerError,
    credential_digest,
)
from scalers.shared.bearer_token import BearerToken, Token, shared_token, token_for_form

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureIdentity:
    """Who asks: the operator's environment, overridden by the TriggerAuthentication's podIdentity."""

    client_id: str
    tenant_id: str
    authority: str
    token_file: str

    @classmethod
    def of(cls, pod_identity: PodIdentity, environment: Mapping[str, str]) -> Self:
        """Raises ConfigError that names what is missing."""
        found = {
            "AZURE_CLIENT_ID": pod_identity.identity_id or environment.get("AZURE_CLIENT_ID", ""),
            "AZURE_TENANT_ID": pod_identity.identity_tenant_id or environment.get("AZURE_TENANT_ID", ""),
            "AZURE_AUTHORITY_HOST": pod_identity.identity_authority_host or environment.get("AZURE_AUTHORITY_HOST", ""),
            "AZURE_FEDERATED_TOKEN_FILE": environment.get("AZURE_FEDERATED_TOKEN_FILE", ""),
        }
        if missing := [name for name, value in found.items() if not value]:
            where = "the operator's environment or the podIdentity of the TriggerAuthentication"
            raise ConfigError(f"podIdentity azure-workload: {', '.join(missing)} is missing: set it in {where}")
        client_id, tenant_id, authority, token_file = found.values()
        return cls(client_id=client_id, tenant_id=tenant_id, authority=authority.rstrip("/"), token_file=token_file)


async def azure_token(context: ScalerContext, scope: str, to: Destination) -> BearerToken:
    """The shared token for this scope. Raises ConfigError, also where the operator's identity must not go."""
    chosen = context.pod_identity.identity_authority_host
    if chosen:
        by_installation = context.pod_identity.cluster_wide
        field = "podIdentity.identityAuthorityHost"
        login = Destination(url=chosen, field=field, service="azure login", by_installation=by_installation)
        context.check_identity("federated token of Azure", login)
    context.check_identity("token of Azure", to)
    identity = AzureIdentity.of(context.pod_identity, os.environ)

    async def fetch() -> Token:
        form = {
            "grant_type": "client_credentials",
            "client_id": identity.client_id,
            "scope": scope,
            "client_assertion_type": _ASSERTION,
            "client_assertion": _read_token(identity.token_file),
        }
        return await token_for_form(context, f"{identity.authority}/{identity.tenant_id}/oauth2/v2.0/token", form)

    whose = credential_digest(identity.client_id, identity.tenant_id, identity.authority, identity.token_file)
    key = CredentialKey(tenant=context.namespace, credential=whose, what=("azure token", scope))
    return await shared_token(context, key, fetch)


def _read_token(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ScalerError(f"AZURE_FEDERATED_TOKEN_FILE {path} cannot be read: {type(error).__name__}") from None
