"""Accounts of Azure Storage over HTTPS: by shared key, shared access signature, or the operator's own identity.

In: a connection string, or the name of an account. Out: answers of its blob or queue service. What a question is signed
with is explained in Azure's "Authorize with Shared Key".
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import parse_qsl

import httpx

from keda_py.clock import Clock
from keda_py.cloud.azure_clouds import STORAGE, scope_of
from keda_py.core.values.urls import is_http_url, path_segments
from keda_py.sdk.advanced import Destination, ScalerContext
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.connection_string import read_connection_string
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.http_answer import HttpQuestion, get

Service = Literal["blob", "queue"]

_VERSION = "2021-12-02"
_DATE = "%a, %d %b %Y %H:%M:%S GMT"
# Standard headers that are signed, each with an empty line here: a GET without conditions has none of them.
_SIGNED_HEADERS = 11


class MissingInStorage(ScalerError):
    """Azure answered 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageAccount:
    """One service of a storage account: its address and its credential."""

    endpoint: str
    signer: Signer

    async def ask(self, context: ScalerContext, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """An answer with status 200. Raises ScalerError with the code that Azure gives, MissingInStorage for 404."""
        url = f"{self.endpoint}/{path_segments('the name in the storage account', path)}"
        question = HttpQuestion(url=url, parameters=parameters, headers={"x-ms-version": _VERSION})
        answer = await get(context, await self.signer.sign(question))
        if answer.status_code != httpx.codes.OK:
            code = answer.headers.get("x-ms-error-code", "")[:100]
            kind = MissingInStorage if answer.status_code == httpx.codes.NOT_FOUND else ScalerError
            raise kind(f"azure storage: {path}: status {answer.status_code} {code}".rstrip())
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedKey:
    """A Signer with the key of an account."""

    account: str
    key: bytes = field(repr=False)
    clock: Clock

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with its date and signature."""
        headers = {**question.headers, "x-ms-date": self.clock.now().strftime(_DATE)}
        text = _text_to_sign(self.account, replace(question, headers=headers))
        signature = base64.b64encode(hmac.digest(self.key, text.encode(), hashlib.sha256)).decode()
        return replace(question, headers={**headers, "Authorization": f"SharedKey {self.account}:{signature}"})


@dataclass(frozen=True, slots=True)
class SharedAccessSignature:
    """A Signer with what goes into the query."""

    parameters: Mapping[str, str] = field(repr=False)

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the signature among its parameters."""
        return replace(question, parameters={**question.parameters, **self.parameters})


def account_of_connection(connection: str, service: Service, field: str, clock: Clock) -> StorageAccount:
    """Make the account that a connection string names. Raises ConfigError, which shows none of it."""
    parts = read_connection_string(connection, field)
    account, key = parts.get("accountname", ""), parts.get("accountkey", "")
    endpoint = parts.get(f"{service}endpoint", "")
    if not endpoint:
        if not account:
            raise ConfigError(f"{field}: the connection string has no AccountName", field=field)
        scheme, suffix = parts.get("defaultendpointsprotocol", "https"), parts.get("endpointsuffix", "core.windows.net")
        endpoint = f"{scheme}://{account}.{service}.{suffix}"
    if not is_http_url(endpoint):
        raise ConfigError(f"{field}: the connection string names no http:// or https:// address", field=field)
    if key and account:
        signer: Signer = SharedKey(account=account, key=_decoded(key, field), clock=clock)
    elif signature := parts.get("sharedaccesssignature", ""):
        signer = SharedAccessSignature(dict(parse_qsl(signature.removeprefix("?"), keep_blank_values=True)))
    else:
        message = f"{field}: the connection string needs AccountName and AccountKey, or SharedAccessSignature"
        raise ConfigError(message, field=field)
    return StorageAccount(endpoint=endpoint.rstrip("/"), signer=signer)


async def account_of_identity(context: ScalerContext, host: str, key: str, authority: str) -> StorageAccount:
    """The account at a host of its own, asked as the operator. Raises ConfigError where that must not be."""
    to = Destination(url=f"https://{host}", field=key, service="azure storage")
    source = await azure_token(context, scope_of(STORAGE), to, authority)
    return StorageAccount(endpoint=to.url, signer=BearerToken(source))


def _decoded(key: str, field: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except binascii.Error:
        message = f"{field}: AccountKey of the connection string is not Base64: copy it whole"
        raise ConfigError(message, field=field) from None


def _text_to_sign(account: str, question: HttpQuestion) -> str:
    path = httpx.URL(question.url).raw_path.decode("ascii").partition("?")[0]
    headers = "".join(f"{name}:{value}\n" for name, value in sorted(question.headers.items()))
    query = "".join(f"\n{name}:{value}" for name, value in sorted(question.parameters.items()))
    return f"GET\n{chr(10) * _SIGNED_HEADERS}{headers}/{account}{path}{query}"
