"""A tenant never gets what another tenant's credential obtains: every provider, two namespaces.

The first tenant resolves twice, so that everything that can be cached is cached. Then the second names the same
address, path and role: with an invalid credential, with none, and from the first tenant's own namespace with an invalid
one.
"""

import base64
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from keda_py.errors import KedaPyError
from keda_py.kube.resources import Obj
from keda_py.kube.transport import Request
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import a_namespace, authentication, deployment, secret
from tests.http_server import HttpServer, http_server
from tests.worlds.world import World

SECRET = "s3cret-of-the-shop"
SHOP, BANK = "default", "bank"
GOOD, RUBBISH, NONE = "g00d", "rubbish", ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One provider with its credential; `name` is that of the TriggerAuthentication and of its Secret."""

    world: World
    server: HttpServer
    folder: Path
    name: str
    namespace: str
    credential: str

    def authentication(self, **spec: Any) -> Obj:
        return authentication(self.name, namespace=self.namespace, **spec)

    def secret(self, value: str) -> Obj:
        return secret(self.name, self.namespace, **({"secret": value} if value else {}))

    @property
    def of_secret(self) -> Obj:
        return {"valueFrom": {"secretKeyRef": {"name": self.name, "key": "secret"}}}


Make = Callable[[Case], list[Obj]]


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def tenants(world: World) -> AsyncIterator[World]:
    """Add a namespace "bank", with a ServiceAccount of the same name in both; files may be sent to any vault."""
    await world.apply(a_namespace(BANK), deployment("app"))
    accounts = [{"name": "robot", "namespace": one} for one in (SHOP, BANK)]
    await world.apply(*({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta} for meta in accounts))
    async with world.operator.running(operator_identity_anywhere="true"):
        yield world


def believing(good: Callable[[web.Request, Mapping[str, Any]], bool | Awaitable[bool]], body: Obj) -> Any:
    """Answer requests with a valid credential; refuse others."""

    async def answer(request: web.Request) -> web.Response:
        content = await request.read()
        is_json = request.content_type.endswith("json") and content
        sent = orjson.loads(content) if is_json else dict(await request.post())
        is_good = good(request, sent)
        if not (is_good if isinstance(is_good, bool) else await is_good):
            return web.json_response({"errors": ["no"]}, status=403)
        return web.json_response(body)

    return answer


def has_header(name: str, value: str) -> Callable[[web.Request, Mapping[str, Any]], bool]:
    return lambda request, _: request.headers.get(name, "") == value


async def subject(world: World, token: str) -> str:
    """Return the subject of a token of the cluster, or of `made_jwt`."""
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    if payload:
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    request = Request(method="POST", path=path, body=review, resource="tokenreviews")
    status = (await world.client.send(request))["status"]
    return str(status.get("user", {}).get("username", ""))


def made_jwt(name: str) -> str:
    claims = base64.urlsafe_b64encode(orjson.dumps({"sub": f"system:serviceaccount:keda:{name}"})).decode()
    return f"head.{claims.rstrip('=')}.signature"


def vault(case: Case, **spec: Any) -> Obj:
    server = case.server
    server.answers["/v1/kv/app"] = believing(has_header("X-Vault-Token", GOOD), {"data": {"k": SECRET}})
    server.answers["/v1/pki/issue/app"] = believing(
        has_header("X-Vault-Token", GOOD), {"data": {"certificate": SECRET, "private_key": SECRET}}
    )
    believed = (f"system:serviceaccount:{SHOP}:robot", "system:serviceaccount:keda:good")

    async def may_log_in(_: web.Request, sent: Mapping[str, Any]) -> bool:
        return sent["role"] == "app" and await subject(case.world, sent["jwt"]) in believed

    server.answers["/v1/auth/k8s/login"] = believing(may_log_in, {"auth": {"client_token": GOOD}})
    return case.authentication(hashiCorpVault={"address": server.url, **spec})


KV = [{"parameter": "password", "path": "kv/app", "key": "k"}]
PKI = [
    {"parameter": name, "path": "pki/issue/app", "type": "pki", "pkiData": {"commonName": "app"}, "key": key}
    for name, key in (("cert", "certificate"), ("key", "private_key"))
]


def vault_token(secrets: list[Obj]) -> Make:
    def make(case: Case) -> list[Obj]:
        login: Obj = {"credential": {"token": case.credential}} if case.credential else {}
        return [vault(case, authentication="token", secrets=secrets, **login)]

    return make


def vault_account(secrets: list[Obj]) -> Make:
    """Use a requested token: only the namespace, or the name of the account, differs."""

    def make(case: Case) -> list[Obj]:
        name = {GOOD: "robot", RUBBISH: "robot" if case.namespace == BANK else "default", NONE: "nobody"}[
            case.credential
        ]
        login = {"mount": "k8s", "role": "app", "credential": {"serviceAccountName": name}}
        accounts = [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": case.namespace}}
        ]
        made = vault(case, authentication="kubernetes", secrets=secrets, **login)
        return [*(accounts if name == "default" else ()), made]

    return make


def vault_file(secrets: list[Obj]) -> Make:
    """Use the token in a file: only the file differs."""

    def make(case: Case) -> list[Obj]:
        file = case.folder / f"jwt-{case.credential or 'none'}"
        if case.credential:
            file.write_text(made_jwt("good" if case.credential == GOOD else "other"))
        login = {"mount": "k8s", "role": "app", "credential": {"serviceAccount": str(file)}}
        return [vault(case, authentication="kubernetes", secrets=secrets, **login)]

    return make


def azure_principal(case: Case) -> list[Obj]:
    case.server.answers["/tenant/oauth2/v2.0/token"] = believing(
        lambda _, sent: GOOD in (sent.get("client_secret"), sent.get("client_id")), {"access_token": "t0ken"}
    )
    case.server.answers["/secrets/one"] = believing(has_header("Authorization", "Bearer t0ken"), {"value": SECRET})
    cloud = {"type": "Private", "keyVaultResourceURL": case.server.url, "activeDirectoryEndpoint": case.server.url}
    login: Obj = {"credentials": {"clientId": "me", "tenantId": "tenant", "clientSecret": case.of_secret}}
    spec = {"vaultUri": case.server.url, "cloud": cloud, "secrets": [{"parameter": "a", "name": "one"}], **login}
    return [case.secret(case.credential), case.authentication(azureKeyVault=spec)]


def azure_workload(case: Case) -> list[Obj]:
    """Use the operator's token, for one or another identity."""
    *_, made = azure_principal(case)
    spec = made["spec"]["azureKeyVault"]
    del spec["credentials"]
    if case.credential:
        spec["podIdentity"] = {
            "provider": "azure-workload",
            "identityId": case.credential,
            "identityTenantId": "tenant",
        }
    return [made]


@cache
def a_private_key() -> str:
    """Make a key as PEM text."""
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*form).decode()


def gcp_key(case: Case) -> list[Obj]:
    def is_good(_: web.Request, sent: Mapping[str, Any]) -> bool:
        claims = str(sent.get("assertion", "..")).split(".")[1]
        return bool(json.loads(base64.urlsafe_b64decode(claims + "=="))["iss"] == GOOD)

    case.server.answers["/token"] = believing(is_good, {"access_token": "t0ken"})
    data = {"payload": {"data": base64.b64encode(SECRET.encode()).decode()}}
    path = "/v1/projects/shop/secrets/one/versions/latest:access"
    case.server.answers[path] = believing(has_header("Authorization", "Bearer t0ken"), data)
    account = {
        "client_email": case.credential,
        "private_key": a_private_key(),
        "token_uri": f"{case.server.url}/token",
    }
    key = json.dumps({**account, "project_id": "shop"}) if case.credential else ""
    manager = {"credentials": {"clientSecret": case.of_secret}, "secrets": [{"parameter": "a", "id": "one"}]}
    return [case.secret(key), case.authentication(gcpSecretManager=manager)]


def aws_key(case: Case) -> list[Obj]:
    def is_good(request: web.Request, _: Mapping[str, Any]) -> bool:
        return f"Credential={GOOD}/" in request.headers["Authorization"]

    case.server.answers["/"] = believing(is_good, {"SecretString": SECRET})
    keys = {"accessKey": case.of_secret, "accessSecretKey": case.of_secret}
    manager = {"region": "eu-west-1", "credentials": keys, "secrets": [{"parameter": "a", "name": "one"}]}
    return [case.secret(case.credential), case.authentication(awsSecretManager=manager)]


def bound_token(case: Case) -> list[Obj]:
    """Compare by the subject: see `shown`."""
    name = "robot" if case.credential == GOOD else "nobody"
    entries = [{"parameter": "token", "serviceAccountName": name}]
    return [case.authentication(boundServiceAccountToken=entries)]


def oauth2(case: Case) -> list[Obj]:
    spec = {"clientId": "me", "tokenUrl": case.server.url, "clientSecret": case.of_secret}
    value = SECRET if case.credential == GOOD else case.credential
    return [case.secret(value), case.authentication(oauth2=spec)]


def of_secret(case: Case) -> list[Obj]:
    value = SECRET if case.credential == GOOD else case.credential
    reference = [{"parameter": "a", "name": case.name, "key": "secret"}]
    return [case.secret(value), case.authentication(secretTargetRef=reference)]


PROVIDERS: dict[str, Make] = {
    "vault, token": vault_token(KV),
    "vault, token, certificate": vault_token(PKI),
    "vault, requested token": vault_account(KV),
    "vault, requested token, certificate": vault_account(PKI),
    "vault, file": vault_file(KV),
    "vault, file, certificate": vault_file(PKI),
    "azure, principal": azure_principal,
    "azure, workload identity": azure_workload,
    "gcp, key": gcp_key,
    "aws, access key": aws_key,
    "bound token": bound_token,
    "oauth2": oauth2,
    "secret": of_secret,
}


async def shown(case: Case) -> str:
    """Return a tenant's result as a text in which the first one's secret would appear; errors count as well."""
    try:
        found = (await resolve(case.world, redis_trigger(case.name), namespace=case.namespace)).auth
    except KedaPyError as error:
        return str(error)
    whose = await subject(case.world, found["token"]) if found.get("token") else ""
    return f"{found} {SECRET if whose == f'system:serviceaccount:{SHOP}:robot' else ''}"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_another_tenant_gets_nothing_of_what_was_obtained(
    tenants: World, server: HttpServer, provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "federated").write_text("assertion")
    for name, value in {
        "AZURE_CLIENT_ID": "operator",
        "AZURE_FEDERATED_TOKEN_FILE": f"{tmp_path}/federated",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": server.url,
        "AWS_ENDPOINT_URL": server.url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("VAULT_TOKEN", raising=False)
    assert "AWS_ACCESS_KEY_ID" not in os.environ
    make = PROVIDERS[provider]
    whose = ((SHOP, GOOD), (SHOP, GOOD), (BANK, RUBBISH), (BANK, NONE), (SHOP, RUBBISH), (SHOP, NONE))
    for number, (namespace, credential) in enumerate(whose):
        case = Case(
            world=tenants,
            server=server,
            folder=tmp_path,
            name=f"auth{number}",
            namespace=namespace,
            credential=credential,
        )
        await tenants.apply(*make(case))
        found = SECRET in await shown(case)
        assert found is (credential == GOOD), f"{credential or 'none'} in {namespace}"
