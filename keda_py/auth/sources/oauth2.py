"""Source `oauth2`: parameters with which a scaler gets access tokens itself, by the client credentials grant."""

from urllib.parse import urlencode

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import OAuth2
from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.sources.target_refs import read_secret_value
from keda_py.net.secret_texts import EMPTY, as_secrets


async def read_oauth2(oauth2: OAuth2, lookup: Lookup) -> dict[str, SecretStr]:
    """Read the parameters. Raises KubeError if the client's Secret cannot be read."""
    secret = await read_secret_value(oauth2.client_secret, lookup) if oauth2.client_secret else EMPTY
    known = {
        "oauthTokenURI": oauth2.token_url,
        "clientID": oauth2.client_id,
        "scopes": ",".join(oauth2.scopes),
        "endpointParams": urlencode(sorted(oauth2.token_url_params.items())),
    }
    return {**as_secrets(known), "clientSecret": secret}
