"""Source `boundServiceAccountToken`, and tokens for other sources that need one: short-lived, by TokenRequest.

A token is renewed after four fifths of its life, so that no reading fails because it has expired.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import SecretStr

from keda_py.apis.trigger_authentication import BoundServiceAccountToken
from keda_py.auth.lookup.lookup import Lookup
from keda_py.errors import NotFound, Unavailable
from keda_py.kube.resources import SERVICE_ACCOUNTS
from keda_py.kube.transport import Request
from keda_py.net.secret_texts import EMPTY

LIFE_USED = 0.8


async def read_bound_tokens(entries: Sequence[BoundServiceAccountToken], lookup: Lookup) -> dict[str, SecretStr]:
    """Request the tokens; a missing ServiceAccount gives an empty text. Raises KubeError if no token is issued."""
    found = {}
    for entry in entries:
        try:
            token = await request_token(lookup.namespace, entry.service_account_name, lookup)
        except NotFound:
            lookup.note_missing("serviceaccount", entry.service_account_name)
            lookup.resolve_again_in(LIFE_USED * lookup.around.settings.token_expiry.total_seconds())
            token = EMPTY
        found[entry.parameter] = token
    return found


async def request_token(namespace: str, name: str, lookup: Lookup) -> SecretStr:
    """Return a token of a ServiceAccount; the trigger is resolved again before it expires. Raises KubeError."""
    clock = lookup.around.clock

    async def issue() -> tuple[SecretStr, datetime]:
        seconds = int(lookup.around.settings.token_expiry.total_seconds())
        request = Request(
            method="POST",
            path=SERVICE_ACCOUNTS.named(namespace, name, "token").path,
            body={
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": seconds},
            },
            resource="serviceaccounts/token",
        )
        status = (await lookup.around.client.send(request)).get("status") or {}
        try:
            return SecretStr(str(status["token"])), datetime.fromisoformat(status["expirationTimestamp"])
        except (KeyError, ValueError):
            raise Unavailable(f"TokenRequest for ServiceAccount {name}: the answer has no token") from None

    token, ends = await lookup.around.tokens.get(lookup.key(("token request",), namespace, name), issue)
    lookup.resolve_again_in(max(LIFE_USED * (ends - clock.now()).total_seconds(), 0.0))
    return token
