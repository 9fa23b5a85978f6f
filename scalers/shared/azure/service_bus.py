"""Namespaces of Service Bus and Event Hubs: shared access signatures, and who may ask for what.

In: a connection string, or a namespace and podIdentity. Out: a host, and a Signer of questions to it.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import quote_plus, urlsplit

import httpx

from keda_py.clock import Clock
from keda_py.sdk.scaler import ConfigError
from scalers.shared.azure.connection_string import read_connection_string
from scalers.shared.bearer_token import Signer
from scalers.shared.http_answer import HttpQuestion

_LIFE = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """A Signer with the key of a shared access policy."""

    name: str
    key: str = field(repr=False)
    clock: Clock

    def token(self, audience: str) -> str:
        """The signature of an address, for an hour."""
        resource = quote_plus(audience).lower()
        expiry = int((self.clock.now() + _LIFE).timestamp())
        digest = hmac.digest(self.key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256)
        signature = quote_plus(base64.b64encode(digest).decode())
        return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={quote_plus(self.name)}"

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the header Authorization."""
        url = str(httpx.URL(question.url).copy_merge_params(dict(question.parameters)))
        return replace(question, headers={**question.headers, "Authorization": self.token(url)})


@dataclass(frozen=True, slots=True)
class GivenSignature:
    """A Signer with a signature that was made elsewhere."""

    text: str = field(repr=False)

    def token(self, _audience: str) -> str:
        """The same for every address."""
        return self.text

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the header Authorization."""
        return replace(question, headers={**question.headers, "Authorization": self.text})


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceConnection:
    """What a connection string says; `entity_path` "" where it is for the whole namespace."""

    host: str
    entity_path: str
    policy: AccessPolicy | GivenSignature

    @property
    def signer(self) -> Signer:
        """Of questions over HTTPS."""
        return self.policy


def read_namespace_connection(text: str, field: str, clock: Clock) -> NamespaceConnection:
    """Raises ConfigError, which shows none of it."""
    parts = read_connection_string(text, field)
    host = _host(parts.get("endpoint", ""))
    if not host:
        raise ConfigError(f"{field}: the connection string has no Endpoint=sb://NAMESPACE/", field=field)
    policy = _policy(parts, field, clock)
    return NamespaceConnection(host=host, entity_path=parts.get("entitypath", ""), policy=policy)


def _host(endpoint: str) -> str:
    try:
        return urlsplit(endpoint).hostname or ""
    except ValueError:
        return ""


def _policy(parts: Mapping[str, str], field: str, clock: Clock) -> AccessPolicy | GivenSignature:
    name, key = parts.get("sharedaccesskeyname", ""), parts.get("sharedaccesskey", "")
    if name and key:
        return AccessPolicy(name=name, key=key, clock=clock)
    if signature := parts.get("sharedaccesssignature", ""):
        return GivenSignature(signature)
    message = "the connection string needs SharedAccessKeyName and SharedAccessKey, or SharedAccessSignature"
    raise ConfigError(f"{field}: {message}", field=field)
