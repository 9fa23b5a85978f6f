"""Secrets of Vault, Azure and Google over HTTP, and of AWS from moto's server."""

import base64
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.cloud.aws import AmbientIdentity
from keda_py.cloud.aws_sessions import open_session
from keda_py.errors import ConfigError, ScalerError
from keda_py.kube.resources import Obj
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import authentication, secret
from tests.http_server import HttpServer, http_server
from tests.scalers.conftest import aws_endpoint
from tests.worlds.world import World

__all__ = ["aws_endpoint"]

SECRETS = ("t0ken", "s3cret-value", "cl1ent-s3cret", "assert1on")


@pytest.fixture(autouse=True)
def nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG, "keda_py")
    yield
    assert not [one for one in SECRETS if one in caplog.text]


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


def of_key(name: str, key: str) -> Obj:
    return {"valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def demanding(body: object, **headers: str) -> Any:
    """Answer requests that have these headers."""

    async def answer(request: web.Request) -> web.Response:
        wanted = {name.replace("_", "-"): value for name, value in headers.items()}
        if any(request.headers.get(name) != value for name, value in wanted.items()):
            return web.json_response({"errors": ["permission denied"]}, status=403)
        return web.json_response(body)

    return answer


def vault(server: HttpServer, *secrets: Obj, **more: Any) -> Obj:
    login = {"authentication": "token", "credential": {"token": "t0ken"}}
    return authentication("auth", hashiCorpVault={"address": server.url, **login, "secrets": list(secrets), **more})


async def test_vault_secrets_of_both_versions(working: World, server: HttpServer) -> None:
    one, two = {"data": {"password": "s3cret-value"}}, {"data": {"data": {"password": "s3cret-value"}, "metadata": {}}}
    for path, body in (("/v1/kv1/app", one), ("/v1/kv2/data/app", two)):
        server.answers[path] = demanding(body, X_Vault_Token="t0ken", X_Vault_Namespace="team")
    await working.apply(
        vault(
            server,
            {"parameter": "a", "path": "kv1/app", "key": "password"},
            {"parameter": "b", "path": "kv1/app", "key": "password", "type": "secret"},
            {"parameter": "c", "path": "kv2/data/app", "key": "password"},
            {"parameter": "d", "path": "/kv2/data/app", "key": "password", "type": "secretV2"},
            {"parameter": "e", "path": "kv1/app", "key": "nope"},
            {"parameter": "f", "path": "kv1/nope", "key": "password"},
            namespace="team",
        )
    )
    found = (await resolve(working, redis_trigger("auth"))).auth
    assert found == {**dict.fromkeys("abcd", "s3cret-value"), "e": "", "f": ""}


async def test_names_in_a_vault_path_stay_in_their_segments(working: World, server: HttpServer) -> None:
    """A `?` would begin parameters and a `#` cut the path; Vault's own client quotes both."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.raw_path)
        return web.json_response({"data": {"k": "v"}})

    for path in ("/v1/kv1/what?list=true", "/v1/kv1/a#b", "/v1/kv1/a\nb c%2F"):
        server.answers[path] = answer
    await working.apply(
        vault(
            server,
            {"parameter": "a", "path": "kv1/what?list=true", "key": "k"},
            {"parameter": "b", "path": "/kv1//a#b/", "key": "k"},
            {"parameter": "c", "path": "kv1/a\nb c%2F", "key": "k"},
        )
    )
    found = (await resolve(working, redis_trigger("auth"))).auth
    assert found == dict.fromkeys("abc", "v")
    assert asked == ["/v1/kv1/what%3Flist=true", "/v1/kv1/a%23b", "/v1/kv1/a%0Ab%20c%252F"]


@pytest.mark.parametrize("path", ["kv1/../sys/seal-status", "..", "kv1/./app"])
async def test_a_step_in_a_vault_path_is_refused(path: str, working: World, server: HttpServer) -> None:
    await working.apply(vault(server, {"parameter": "a", "path": path, "key": "k"}))
    with pytest.raises(ConfigError, match=r"spec.hashiCorpVault.secrets.path: '\.\.?' is a step in a path"):
        await resolve(working, redis_trigger("auth"))


async def test_a_step_in_a_vault_mount_is_refused(working: World, server: HttpServer) -> None:
    login = {"authentication": "kubernetes", "credential": {"serviceAccountName": "robot"}, "mount": "../sys"}
    await working.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}},
        vault(server, {"parameter": "a", "path": "kv1/app", "key": "k"}, **login, role="keda"),
    )
    with pytest.raises(ConfigError, match=r"spec.hashiCorpVault.mount: '\.\.' is a step in a path"):
        await resolve(working, redis_trigger("auth"))


async def test_a_vault_that_refuses_or_is_away_is_an_error(working: World, server: HttpServer) -> None:
    server.answers["/v1/kv1/app"] = demanding({}, X_Vault_Token="another")
    await working.apply(vault(server, {"parameter": "a", "path": "kv1/app", "key": "password"}))
    with pytest.raises(ScalerError, match=r'Get "http://127.*/v1/kv1/app": status 403') as refused:
        await resolve(working, redis_trigger("auth"))
    assert "t0ken" not in str(refused.value)
    away = vault(server, {"parameter": "a", "path": "p", "key": "k"}, address="http://127.0.0.1:1")
    away["metadata"]["name"] = "away"
    await working.apply(away)
    with pytest.raises(ScalerError, match=r'Get "http://127.0.0.1:1/v1/p": '):
        await resolve(working, redis_trigger("away"))


async def test_vault_believes_a_service_account(working: World, server: HttpServer) -> None:
    logins = []

    async def log_in(request: web.Request) -> web.Response:
        logins.append(await request.json())
        return web.json_response({"auth": {"client_token": "t0ken"}})

    server.answers["/v1/auth/k8s/login"] = log_in
    server.answers["/v1/kv1/app"] = demanding({"data": {"k": "v"}}, X_Vault_Token="t0ken")
    meta = {"name": "robot", "namespace": "default"}
    login = {"authentication": "kubernetes", "credential": {"serviceAccountName": "robot"}, "mount": "k8s"}
    await working.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        vault(server, {"parameter": "a", "path": "kv1/app", "key": "k"}, **login, role="keda"),
    )
    for _ in range(2):
        assert (await resolve(working, redis_trigger("auth"))).auth == {"a": "v"}
    (asked,) = logins
    assert asked["role"] == "keda"
    assert asked["jwt"]


async def test_only_the_file_of_a_service_accounts_token_is_sent_to_vault(
    as_in_keda: World, server: HttpServer, tmp_path: Path
) -> None:
    sent = []

    async def log_in(request: web.Request) -> web.Response:
        sent.append((await request.json())["jwt"])
        return web.json_response({"auth": {"client_token": "t0ken"}})

    server.answers["/v1/auth/k8s/login"] = log_in
    server.answers["/v1/p"] = json.dumps({"data": {"k": "v"}})
    claims = base64.urlsafe_b64encode(orjson.dumps({"sub": "system:serviceaccount:keda:keda-operator"})).decode()
    texts = {"good": f"head.{claims.rstrip('=')}.signature", "passwd": "root:x:0:0", "other": "a.e30.b"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        login = {"authentication": "kubernetes", "mount": "k8s", "role": name}
        credential = {"serviceAccount": str(tmp_path / name)}
        made = vault(server, {"parameter": "a", "path": "p", "key": "k"}, **login, credential=credential)
        made["metadata"]["name"] = name
        await as_in_keda.apply(made)
    assert (await resolve(as_in_keda, redis_trigger("good"))).auth == {"a": "v"}
    for name in ("passwd", "other"):
        with pytest.raises(ConfigError, match="does not hold the token of a ServiceAccount"):
            await resolve(as_in_keda, redis_trigger(name))
    assert sent == [texts["good"]]


async def test_certificate_and_key_are_of_one_issue(working: World, server: HttpServer) -> None:
    issued = []

    async def issue(request: web.Request) -> web.Response:
        issued.append(await request.json())
        data = {"certificate": f"cert{len(issued)}", "private_key": f"key{len(issued)}", "ca_chain": ["a", "b"]}
        return web.json_response({"data": data})

    server.answers["/v1/pki/issue/app"] = issue
    wanted = {"path": "pki/issue/app", "type": "pki", "pkiData": {"commonName": "app.example.com", "ttl": "1h"}}
    names = {"cert": "certificate", "key": "private_key", "ca": "ca_chain"}
    await working.apply(vault(server, *({"parameter": name, "key": key, **wanted} for name, key in names.items())))
    for _ in range(2):
        found = (await resolve(working, redis_trigger("auth"))).auth
        assert found == {"cert": "cert1", "key": "key1", "ca": "a\nb"}
    assert issued == [{"common_name": "app.example.com", "ttl": "1h"}]


def key_vault(server: HttpServer, **more: Any) -> Obj:
    cloud = {"type": "Private", "keyVaultResourceURL": server.url, "activeDirectoryEndpoint": server.url}
    secrets = [{"parameter": "a", "name": "one"}, {"parameter": "b", "name": "one", "version": "v2"}]
    return authentication("auth", azureKeyVault={"vaultUri": server.url, "cloud": cloud, "secrets": secrets, **more})


async def answer_as_azure(server: HttpServer, form: dict[str, str]) -> None:
    async def log_in(request: web.Request) -> web.Response:
        given = dict(await request.post())
        if any(given.get(name) != value for name, value in form.items()):
            return web.json_response({"error": "invalid_client"}, status=401)
        return web.json_response({"access_token": "t0ken", "expires_in": 3600})

    server.answers["/tenant/oauth2/v2.0/token"] = log_in
    for path, value in (("/secrets/one", "s3cret-value"), ("/secrets/one/v2", "of version 2")):
        server.answers[path] = demanding({"value": value}, Authorization="Bearer t0ken")


async def test_azure_key_vault_by_a_service_principal(working: World, server: HttpServer) -> None:
    await answer_as_azure(
        server, {"client_id": "me", "client_secret": "cl1ent-s3cret", "scope": f"{server.url}/.default"}
    )
    credentials = {"clientId": "me", "tenantId": "tenant", "clientSecret": of_key("azure", "secret")}
    await working.apply(secret("azure", secret="cl1ent-s3cret"), key_vault(server, credentials=credentials))
    found = (await resolve(working, redis_trigger("auth"))).auth
    assert found == {"a": "s3cret-value", "b": "of version 2"}
    assert {request.query.get("api-version") for request in server.asked if "/secrets/" in request.path} == {"7.4"}


async def test_azure_key_vault_by_workload_identity(
    as_in_keda: World, server: HttpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("assert1on\n")
    for name, value in {
        "CLIENT_ID": "operator",
        "TENANT_ID": "tenant",
        "FEDERATED_TOKEN_FILE": f"{tmp_path}/token",
    }.items():
        monkeypatch.setenv(f"AZURE_{name}", value)
    await answer_as_azure(server, {"client_id": "me", "client_assertion": "assert1on"})
    identity = {"provider": "azure-workload", "identityId": "me"}
    await as_in_keda.apply(key_vault(server, podIdentity=identity))
    assert (await resolve(as_in_keda, redis_trigger("auth"))).auth["a"] == "s3cret-value"


async def test_azure_errors_are_raised_without_the_secret(working: World, server: HttpServer) -> None:
    await answer_as_azure(server, {"client_secret": "right"})
    credentials = {"clientId": "me", "tenantId": "tenant", "clientSecret": of_key("azure", "secret")}
    await working.apply(secret("azure", secret="cl1ent-s3cret"), key_vault(server, credentials=credentials))
    with pytest.raises(ScalerError, match="Post .*: status 401") as error:
        await resolve(working, redis_trigger("auth"))
    assert "cl1ent" not in str(error.value)


async def answer_as_google(server: HttpServer) -> None:
    data = base64.b64encode(b"s3cret-value").decode()
    path = "/v1/projects/shop/secrets/{}/versions/{}:access"
    for name, version in (("one", "latest"), ("two", "3")):
        server.answers[path.format(name, version)] = demanding(
            {"payload": {"data": data}}, Authorization="Bearer t0ken"
        )


GCP_SECRETS = [
    {"parameter": "a", "id": "one"},
    {"parameter": "b", "id": "two", "version": "3"},
    {"parameter": "c", "id": "nope"},
]


async def test_gcp_secrets_by_the_operators_identity(
    working: World, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", server.url.removeprefix("http://"))
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", server.url)
    await answer_as_google(server)
    root = "/computeMetadata/v1"
    token = {"access_token": "t0ken", "expires_in": 3600}
    server.answers[f"{root}/instance/service-accounts/default/token"] = demanding(token, Metadata_Flavor="Google")
    server.answers[f"{root}/project/"] = demanding({"projectId": "shop"}, Metadata_Flavor="Google")
    await working.apply(
        authentication("auth", gcpSecretManager={"podIdentity": {"provider": "gcp"}, "secrets": GCP_SECRETS})
    )
    found = (await resolve(working, redis_trigger("auth"))).auth
    assert found == {"a": "s3cret-value", "b": "s3cret-value"}, "what cannot be read is told and left out"


async def test_gcp_secrets_by_a_service_accounts_key(
    working: World, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", server.url)
    await answer_as_google(server)

    async def log_in(request: web.Request) -> web.Response:
        claims = str((await request.post())["assertion"]).split(".")[1]
        issuer = json.loads(base64.urlsafe_b64decode(claims + "=="))["iss"]
        return web.json_response({"access_token": "t0ken" if issuer == "keda@shop" else "no"})

    server.answers["/token"] = log_in
    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    key = {
        "client_email": "keda@shop",
        "private_key": pem.decode(),
        "token_uri": f"{server.url}/token",
        "project_id": "shop",
    }
    manager = {"credentials": {"clientSecret": of_key("gcp", "key")}, "secrets": GCP_SECRETS[:1]}
    await working.apply(secret("gcp", key=json.dumps(key)), authentication("auth", gcpSecretManager=manager))
    assert (await resolve(working, redis_trigger("auth"))).auth == {"a": "s3cret-value"}


@pytest.fixture
async def aws(aws_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a secret "plain" with two versions, and one that is JSON."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "operator")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "operator")
    async with open_session(AmbientIdentity(), "eu-west-1", 60).create_client(
        "secretsmanager", region_name="eu-west-1"
    ) as client:
        for name, text in (("plain", "s3cret-value"), ("json", json.dumps({"a": "of a", "n": 1}))):
            try:
                await client.create_secret(Name=name, SecretString=text)
            except client.exceptions.ResourceExistsException:
                await client.put_secret_value(SecretId=name, SecretString=text)


AWS_SECRETS = [
    {"parameter": "a", "name": "plain"},
    {"parameter": "b", "name": "json", "secretKey": "a"},
    {"parameter": "c", "name": "json", "secretKey": "n", "versionStage": "AWSCURRENT"},
    {"parameter": "d", "name": "nope"},
]


@pytest.mark.usefixtures("aws")
async def test_aws_secrets_by_an_access_key(working: World) -> None:
    credentials = {"accessKey": of_key("aws", "id"), "accessSecretKey": of_key("aws", "secret")}
    manager = {"region": "eu-west-1", "credentials": credentials, "secrets": AWS_SECRETS}
    await working.apply(
        secret("aws", id="AKID", secret="cl1ent-s3cret"), authentication("auth", awsSecretManager=manager)
    )
    found = (await resolve(working, redis_trigger("auth"))).auth
    assert found == {"a": "s3cret-value", "b": "of a", "c": "1"}, "what cannot be read is told and left out"


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("web_identity", [True, False], ids=["by web identity", "by the operator's own"])
async def test_aws_secrets_in_an_assumed_role(
    working: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, web_identity: bool
) -> None:
    if web_identity:
        (tmp_path / "jwt").write_text("assert1on")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "jwt"))
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/keda")
    identity = {"provider": "aws", "roleArn": "arn:aws:iam::123456789012:role/app"}
    manager = {"region": "eu-west-1", "podIdentity": identity, "secrets": AWS_SECRETS[:1]}
    await working.apply(authentication("auth", awsSecretManager=manager))
    assert (await resolve(working, redis_trigger("auth"))).auth == {"a": "s3cret-value"}
