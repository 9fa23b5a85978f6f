"""What a type checker must refuse; the word behind a line is mypy's code for it."""

from pydantic import SecretStr

from keda_py.auth.lookup.credential_cache import Issued
from keda_py.net.credential_keys import CredentialKey, OpenKey, SharingKey, credential_digest, sharing_key
from keda_py.net.tls import TlsContexts, TlsSettings
from keda_py.sdk.context import SharedResources
from keda_py.sdk.scaler import Scaler, TriggerMetadata


async def make() -> str:
    return ""


async def close(made: str) -> None: ...


async def keep(issued: Issued[str], shared: SharedResources, contexts: TlsContexts) -> None:
    whole = CredentialKey(tenant="shop", credential=credential_digest("a"), what=("x",))
    await issued.get(whole, make)
    await issued.get(("vault", "address"), make)  # arg-type
    await issued.get(OpenKey(what=("vault", "address")), make)  # arg-type
    await shared.take(sharing_key("shop", ("redis",), SecretStr("a")), make, close)
    await shared.take(("redis", "host"), make, close)  # arg-type
    contexts.get(TlsSettings(), "shop")
    contexts.get(TlsSettings())  # call-arg
    CredentialKey(tenant="shop", what=("x",))  # call-arg
    CredentialKey(credential=credential_digest("a"), what=("x",))  # call-arg
    CredentialKey(tenant="shop", credential="s3cret", what=("x",))  # arg-type
    OpenKey(what=("redis", SecretStr("a")))  # arg-type


class RightScaler(Scaler[TriggerMetadata]):
    @property
    def batch_key(self) -> SharingKey:
        return sharing_key(self.context.namespace, ("acme",), "password")


class WrongScaler(Scaler[TriggerMetadata]):
    @property
    def batch_key(self) -> tuple[str, str]:  # override
        return "acme", "password"
