"""The operator's own identity goes where the installation allows, regardless of a TriggerAuthentication."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.kube.resources import Obj
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import authentication, deployment
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.worlds.world import World

CLUSTER = "ClusterTriggerAuthentication"
LISTED = {"operator_identity_hosts": "vault.example.org,127.0.0.1"}
KEDA = {"operator_identity_anywhere": "true"}


@dataclass(frozen=True)
class Scene:
    """Vaults over https and http that return the same secret for any token; `folder` holds the operator's CA."""

    world: World
    https: HttpServer
    http: HttpServer
    folder: Path

    def start(self, **flags: str) -> Any:
        return self.world.operator.running(ca_dir=str(self.folder), **flags)

    @property
    def tokens(self) -> list[str]:
        """Return the tokens that a Vault received."""
        return [one.headers.get("X-Vault-Token", "") for one in (*self.https.asked, *self.http.asked)]


@pytest.fixture
async def scene(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    ours, folder = Authority(), tmp_path / "ca"
    folder.mkdir()
    (folder / "ca.crt").write_text(ours.cert)
    monkeypatch.setenv("VAULT_TOKEN", "of-the-operator")
    await world.apply(deployment("app"))
    async with http_server(ours.server_context(tmp_path)) as https, http_server() as http:
        for server in (https, http):
            server.answers["/v1/p"] = '{"data": {"k": "v"}}'
        yield Scene(world, https, http, folder)


def vault(address: str, kind: str = "TriggerAuthentication", **more: Any) -> Obj:
    secrets = [{"parameter": "a", "path": "p", "key": "k"}]
    given = {"address": address, "authentication": "token", "secrets": secrets, **more}
    return authentication("auth", kind=kind, hashiCorpVault=given)


OWN = {"credential": {"token": "of-the-tenant"}}


TA, OF_TENANT, OF_OPERATOR = "TriggerAuthentication", "of-the-tenant", "of-the-operator"
NOT_SENT, HTTPS_ONLY = 'VAULT_TOKEN is not sent to host "127.0.0.1"', "VAULT_TOKEN goes over https only"
# Kind, credential, scheme of the vault -> the token that it receives, or the reason for the refusal.
TOKENS: dict[str, tuple[dict[str, str], list[tuple[str, Obj, str, str]]]] = {
    "by default": (
        {},
        [
            (TA, OWN, "https", OF_TENANT),
            (TA, OWN, "http", OF_TENANT),
            (TA, {}, "https", NOT_SENT),
            (CLUSTER, {}, "https", OF_OPERATOR),
            (CLUSTER, OWN, "https", OF_OPERATOR),
            (CLUSTER, {}, "http", HTTPS_ONLY),
            (CLUSTER, OWN, "http", HTTPS_ONLY),
        ],
    ),
    "where the host is listed": (
        LISTED,
        [(TA, OWN, "https", OF_TENANT), (TA, {}, "https", OF_OPERATOR), (TA, {}, "http", HTTPS_ONLY)],
    ),
    "as in KEDA": (KEDA, [(TA, OWN, "http", OF_OPERATOR), (TA, {}, "http", OF_OPERATOR)]),
}


@pytest.mark.parametrize("way", TOKENS)
async def test_the_token_that_a_vault_is_sent(scene: Scene, way: str) -> None:
    flags, rows = TOKENS[way]
    async with scene.start(**flags):
        for number, (kind, own, scheme, expected) in enumerate(rows):
            made = vault(getattr(scene, scheme).url, kind, **own)
            made["metadata"]["name"] = name = f"auth{number}"
            await scene.world.apply(made)
            before = scene.tokens
            if expected in (OF_TENANT, OF_OPERATOR):
                assert (await resolve(scene.world, redis_trigger(name, kind))).auth == {"a": "v"}
                assert sorted([*before, expected]) == sorted(scene.tokens), (kind, own, scheme)
                continue
            with pytest.raises(ConfigError, match=expected) as refused:
                await resolve(scene.world, redis_trigger(name, kind))
            assert refused.value.field == "spec.hashiCorpVault.address"
            assert OF_OPERATOR not in str(refused.value)
            assert scene.tokens == before, (kind, own, scheme)


def service_account_token(folder: Path) -> Path:
    claims = base64.urlsafe_b64encode(orjson.dumps({"sub": "system:serviceaccount:keda:keda-operator"})).decode()
    (folder / "token").write_text(f"head.{claims.rstrip('=')}.signature")
    return folder / "token"


def login(path: Path) -> Obj:
    return {"authentication": "kubernetes", "mount": "k8s", "role": "r", "credential": {"serviceAccount": str(path)}}


async def test_a_service_account_token_of_the_operator_is_neither_sent_nor_read_for_a_tenant(
    scene: Scene, tmp_path: Path
) -> None:
    refusals = set()
    async with scene.start():
        for number, path in enumerate(
            (service_account_token(tmp_path), tmp_path / "missing", tmp_path, Path("/proc/1"))
        ):
            made = vault(scene.https.url, **login(path))
            made["metadata"]["name"] = f"auth{number}"
            await scene.world.apply(made)
            with pytest.raises(ConfigError, match="ServiceAccount token is not sent to host") as refused:
                await resolve(scene.world, redis_trigger(f"auth{number}"))
            refusals.add(str(refused.value))
    assert len(refusals) == 1, "which files there are shows in nothing"
    assert scene.https.asked == []


@pytest.mark.parametrize(("kind", "flags"), [(CLUSTER, {}), ("TriggerAuthentication", LISTED)])
async def test_a_service_account_token_goes_where_the_installation_says(
    scene: Scene, tmp_path: Path, kind: str, flags: dict[str, str]
) -> None:
    async def log_in(request: web.Request) -> web.Response:
        return web.json_response({"auth": {"client_token": "given"}})

    scene.https.answers["/v1/auth/k8s/login"] = log_in
    await scene.world.apply(vault(scene.https.url, kind, **login(service_account_token(tmp_path))))
    async with scene.start(**flags):
        assert (await resolve(scene.world, redis_trigger("auth", kind))).auth == {"a": "v"}
    assert scene.tokens == ["", "given"]


EVIL = "https://evil.example.org"
AZURE = {"type": "Private", "keyVaultResourceURL": "https://vault.azure.net"}


AZURE_REFUSALS: list[tuple[Obj, Obj, str]] = [
    (
        {"vaultUri": "https://team.vault.azure.net", "cloud": {**AZURE, "activeDirectoryEndpoint": EVIL}},
        {},
        "cloud.activeDirectoryEndpoint: the operator's federated token of Azure is not sent",
    ),
    (
        {"vaultUri": "https://team.vault.azure.net"},
        {"identityTenantId": "t", "identityAuthorityHost": EVIL},
        "podIdentity.identityAuthorityHost: the operator's federated token of Azure is not sent",
    ),
    ({"vaultUri": EVIL}, {}, "vaultUri: the operator's token of Azure is not sent"),
    ({"vaultUri": "http://team.vault.azure.net"}, {}, "vaultUri: http://team.vault.azure.net: the operator's"),
]


async def test_azures_federated_token_is_not_read_for_an_address_of_a_tenant(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLIENT_ID", "TENANT_ID"):
        monkeypatch.setenv(f"AZURE_{name}", "x")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", "/missing")
    async with scene.start(**LISTED):
        for number, (spec, identity, message) in enumerate(AZURE_REFUSALS):
            pod_identity = {"provider": "azure-workload", **identity}
            whole = {"podIdentity": pod_identity, "secrets": [{"parameter": "a", "name": "one"}], **spec}
            await scene.world.apply(authentication(f"auth{number}", azureKeyVault=whole))
            with pytest.raises(ConfigError, match=f"spec.azureKeyVault.{message}"):
                await resolve(scene.world, redis_trigger(f"auth{number}"))


@pytest.mark.parametrize("by", ["the operator's environment", "a ClusterTriggerAuthentication"])
async def test_azures_federated_token_goes_where_the_installation_says(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    (tmp_path / "federated").write_text("assertion")
    given = {"CLIENT_ID": "me", "TENANT_ID": "tenant", "FEDERATED_TOKEN_FILE": f"{tmp_path}/federated"}
    for name, value in given.items():
        monkeypatch.setenv(f"AZURE_{name}", value)
    kind, vault_spec = CLUSTER, {"vaultUri": scene.https.url}
    if by == "the operator's environment":
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", scene.https.url)
    else:
        vault_spec["cloud"] = {**AZURE, "activeDirectoryEndpoint": scene.https.url}
    scene.https.answers["/tenant/oauth2/v2.0/token"] = '{"access_token": "given"}'
    scene.https.answers["/secrets/one"] = '{"value": "v"}'
    spec = {"podIdentity": {"provider": "azure-workload"}, "secrets": [{"parameter": "a", "name": "one"}], **vault_spec}
    await scene.world.apply(authentication("auth", kind=kind, azureKeyVault=spec))
    async with scene.start():
        assert (await resolve(scene.world, redis_trigger("auth", kind))).auth == {"a": "v"}


async def test_no_token_follows_a_redirect_of_a_vault(scene: Scene, tmp_path: Path) -> None:
    async def away(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"{scene.http.url}{request.path}"})

    scene.https.answers |= {"/v1/p": away, "/v1/auth/k8s/login": away}
    by_file = vault(scene.https.url, CLUSTER, **login(service_account_token(tmp_path)))
    by_file["metadata"]["name"] = "file"
    await scene.world.apply(vault(scene.https.url, CLUSTER), by_file)
    async with scene.start():
        for name, question in (("auth", 'Get ".*/v1/p"'), ("file", 'Post ".*/v1/auth/k8s/login"')):
            with pytest.raises(ScalerError, match=f"{question}: redirected to {scene.http.url}, and a question for a"):
                await resolve(scene.world, redis_trigger(name, CLUSTER))
    assert scene.http.asked == []
