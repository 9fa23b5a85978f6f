"""Log-in of Elasticsearch: the keys, and the check that it is Elasticsearch."""

import base64
import binascii
from typing import Annotated

from pydantic import SecretStr

from keda_py.sdk.advanced import META, RedirectRule, ScalerContext, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, ConfigError, ScalerError, TriggerMetadata, sources
from scalers.shared.credentials.basic import basic
from scalers.shared.elastic.nodes import Nodes, nodes_of

_NONE = SecretStr("")
_REFUSED = (401, 403)


class ElasticMetadata(TriggerMetadata):
    """Connection keys: addresses with user and password, or a deployment of the cloud with an API key."""

    addresses: Annotated[list[str], sources(AUTH, META)] = []
    unsafe_ssl: bool = False
    username: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV, META)] = _NONE
    cloud_id: Annotated[str, named("cloudID"), sources(AUTH, META)] = ""
    api_key: Annotated[SecretStr, sources(AUTH, META)] = _NONE

    def check_log_in(self) -> None:
        """Raises ValueError where the keys do not go together."""
        cloud, key = bool(self.cloud_id), bool(self.api_key.get_secret_value())
        on_site = bool(self.addresses or self.username or self.password.get_secret_value())
        if on_site and (cloud or key):
            both = "cloud config (cloudID, apiKey) and endpoint addresses, username or password"
            raise ValueError(f"can't provide both {both}: keep one")
        if not (on_site or cloud or key):
            raise ValueError("must provide either cloud config (cloudID, apiKey) or endpoint addresses")
        if cloud != key:
            raise ValueError("both cloudID and apiKey must be provided when cloudID or apiKey is used")
        if self.addresses and not (self.username and self.password.get_secret_value()):
            raise ValueError("both username and password must be provided when addresses is used")


async def open_nodes(metadata: ElasticMetadata, context: ScalerContext) -> Nodes:
    """The cluster, which has said that it is Elasticsearch. Raises ScalerError, or ConfigError."""
    if metadata.cloud_id:
        headers = {"Authorization": f"APIKey {metadata.api_key.get_secret_value()}"}
        found = nodes_of([_cloud_address(metadata.cloud_id)], headers)
    else:
        found = nodes_of(metadata.addresses, basic(metadata.username, metadata.password.get_secret_value()))
    if not found:
        raise ConfigError("addresses: none given: name the cluster, or set cloudID and apiKey", field="addresses")
    tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None
    nodes = Nodes(found, tls, context, RedirectRule())
    answer = await nodes.look("GET")
    if answer.status_code in _REFUSED:
        return nodes  # some may search who may not look at the cluster
    if not answer.is_success:
        raise ScalerError(f"elasticsearch does not say what it is: it returned HTTP {answer.status_code}")
    if answer.headers.get("X-Elastic-Product") != "Elasticsearch":
        raise ScalerError("the server is not Elasticsearch: the header X-Elastic-Product is missing")
    return nodes


def _cloud_address(cloud_id: str) -> str:
    """ "name:" and base64 of "domain$cluster$..." Raises ConfigError."""
    try:
        text = base64.b64decode(cloud_id.rpartition(":")[2] + "==").decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    domain, _, rest = text.partition("$")
    cluster = rest.partition("$")[0]
    if not domain or not cluster:
        raise ConfigError("cloudID: is not one: copy it from the deployment's page", field="cloudID")
    return f"https://{cluster}.{domain}"
