"""Check of authentications that send KEDA's own identity to an address to which the operator would not send its own.

KEDA sends it anywhere; `net/operator_identity.py` decides here. Only the authentication itself is judged: the
operator reports an address in a trigger in the Ready condition.
"""

from collections.abc import Iterator
from dataclasses import replace

from keda_py.apis.foreign import title_of
from keda_py.apis.parsing import parse_object
from keda_py.apis.trigger_authentication import TriggerAuthentication, TriggerAuthenticationSpec
from keda_py.errors import ConfigError
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, TRIGGER_AUTHENTICATIONS
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.net.operator_identity import Destination, IdentityRule

_REMEDY = "change it before the move, or set operatorIdentity.hosts in the chart's values"


def check_identities(installation: Installation) -> Iterator[Finding]:
    """Yield a finding for each address that would be refused; `objects.py` reports what cannot be parsed."""
    for resource in (TRIGGER_AUTHENTICATIONS, CLUSTER_TRIGGER_AUTHENTICATIONS):
        for body in installation.of(resource):
            try:
                spec = parse_object(TriggerAuthentication, body).spec
            except ConfigError:
                continue
            for identity, to in _uses(spec):
                by_installation = resource == CLUSTER_TRIGGER_AUTHENTICATIONS
                if refusal := _refusal(identity, replace(to, by_installation=by_installation)):
                    yield Finding(severity=Severity.BLOCKS, object=title_of(body), message=refusal, remedy=_REMEDY)


def _refusal(identity: str, to: Destination) -> str:
    try:
        IdentityRule().check(identity, to)
    except ConfigError as error:
        return str(error)
    return ""


def _uses(spec: TriggerAuthenticationSpec) -> Iterator[tuple[str, Destination]]:
    """Yield each use of the operator's identity with its address; the cloud's own address is the default."""
    if vault := spec.hashi_corp_vault:
        login = vault.credential
        to = Destination(url=vault.address, field="spec.hashiCorpVault.address")
        if vault.authentication == "token" and not (login and login.token):
            yield "VAULT_TOKEN", to
        if vault.authentication == "kubernetes" and not (login and login.service_account_name):
            yield "ServiceAccount token", to
    if (secrets := spec.azure_key_vault) and secrets.pod_identity:
        yield (
            "token of Azure",
            Destination(url=secrets.vault_uri, field="spec.azureKeyVault.vaultUri", service="azure key vault"),
        )
        if secrets.cloud and secrets.cloud.active_directory_endpoint:
            url, field = secrets.cloud.active_directory_endpoint, "spec.azureKeyVault.cloud.activeDirectoryEndpoint"
            yield "federated token of Azure", Destination(url=url, field=field, service="azure login")
    for identity, where in ((spec.pod_identity, "spec"), (secrets and secrets.pod_identity, "spec.azureKeyVault")):
        if identity and identity.identity_authority_host:
            url, field = identity.identity_authority_host, f"{where}.podIdentity.identityAuthorityHost"
            yield "federated token of Azure", Destination(url=url, field=field, service="azure login")
