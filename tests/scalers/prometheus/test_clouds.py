"""`prometheus` of clouds: signatures, and tokens of their identities."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.testing import IdentityRule
from tests.http_server import HttpServer, http_server
from tests.scalers.prometheus.queries import VECTOR, ask, rsa_key


async def test_requests_to_amazon_are_signed(bench: Any, server: HttpServer) -> None:
    server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
    auth = {"awsAccessKeyID": "AKID", "awsSecretAccessKey": "s3cret"}
    scaler = await bench.opened("prometheus", ask(server.url, "a b", awsRegion="eu-west-1"), auth=auth)
    assert (await scaler.read()).value == 7
    headers = server.asked[0].headers
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert "/eu-west-1/aps/aws4_request" in headers["Authorization"]
    assert server.asked[0].query["query"] == "a b"


async def token_server(server: HttpServer, path: str, **form: str) -> None:
    """Gives a token to who sends this form, whose values may be the beginning of what is sent."""

    async def give(request: web.Request) -> web.Response:
        sent = await request.post()
        if not all(str(sent.get(name, "")).startswith(value) for name, value in form.items()):
            return web.Response(status=400, text='{"error":"s3cret"}')
        return web.Response(text='{"access_token":"t0ken","expires_in":3600}')

    server.answers[path] = give
    server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'


async def test_azure_workload_identity(
    bench: Any, server: HttpServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("projected\n")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", f"{server.url}/")
    monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
    scope = "https://prometheus.monitor.azure.us/.default"
    await token_server(server, "/tenant/oauth2/v2.0/token", client_assertion="projected", client_id="me", scope=scope)
    identity = PodIdentity(provider="azure-workload", identity_id="me")
    metadata = ask(server.url, cloud="AzureUSGovernmentCloud")
    bench.lent = replace(bench.lent, identities=IdentityRule(anywhere=True))
    for _ in range(2):
        scaler = await bench.opened("prometheus", metadata, pod_identity=identity)
        assert (await scaler.read()).value == 7
    asked = [request.path for request in server.asked]
    assert asked == ["/tenant/oauth2/v2.0/token", "/api/v1/query", "/api/v1/query"]
    assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"
    with pytest.raises(ConfigError, match="AZURE_CLIENT_ID is missing"):
        await bench.opened("prometheus", metadata, pod_identity=PodIdentity(provider="azure-workload"))
    stranger = PodIdentity(provider="azure-workload", identity_id="you")
    scaler = await bench.opened("prometheus", metadata, pod_identity=stranger)
    with pytest.raises(ScalerError, match=r'/tenant/oauth2/v2.0/token" gave no token: status 400$'):
        await scaler.read()
    with pytest.raises(ConfigError, match="azureManagedPrometheusResourceURL must be provided"):
        await bench.opened("prometheus", ask(server.url, cloud="Private"), pod_identity=identity)


async def test_the_key_of_a_gcp_service_account(bench: Any, server: HttpServer) -> None:
    key = rsa_key()
    account = json.dumps({"client_email": "me@x", "private_key": key, "token_uri": f"{server.url}/token"})
    await token_server(server, "/token", grant_type="urn:ietf", assertion="eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.")
    for options in (
        {"auth": {"GoogleApplicationCredentials": account}},
        {"env": {"KEY": account}},
    ):
        scaler = await bench.opened("prometheus", ask(server.url, credentialsFromEnv="KEY"), **options)
        assert (await scaler.read()).value == 7
        assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"
    with pytest.raises(ConfigError, match="not the JSON key of a service account") as refused:
        await bench.opened("prometheus", ask(server.url), auth={"GoogleApplicationCredentials": '{"a":"s3cret"}'})
    assert "s3cret" not in str(refused.value)


async def test_a_key_in_a_file_of_the_operators(bench: Any, server: HttpServer, tmp_path: Path) -> None:
    account = {"client_email": "me@x", "private_key": rsa_key(), "token_uri": f"{server.url}/token"}
    (tmp_path / "key.json").write_text(json.dumps(account))
    await token_server(server, "/token", grant_type="urn:ietf")
    metadata = ask(server.url, credentialsFromEnvFile="KEY_FILE")
    env, anywhere = {"KEY_FILE": str(tmp_path / "key.json")}, IdentityRule(anywhere=True)
    scaler = await bench.opened("prometheus", metadata, env=env, identities=anywhere)
    assert (await scaler.read()).value == 7
    assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"
    with pytest.raises(ConfigError, match="serverAddress: .* token of Google goes over https only"):
        await bench.opened("prometheus", metadata, env=env)


async def test_no_error_tells_what_other_files_the_operator_has(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("s3cret")
    (tmp_path / "long").write_text(" " * 100_000)
    told = set()
    for path in ("other", "long", "missing", "."):
        metadata, env = ask("http://x", credentialsFromEnvFile="KEY_FILE"), {"KEY_FILE": str(tmp_path / path)}
        with pytest.raises(ConfigError, match="credentialsFromEnvFile: the operator has no readable key") as refused:
            await bench.opened("prometheus", metadata, env=env, identities=IdentityRule(anywhere=True))
        told.add(str(refused.value))
    assert len(told) == 1


@pytest.mark.parametrize("by", ["a key", "the metadata server"])
async def test_a_question_for_a_token_follows_no_redirect(
    bench: Any, server: HttpServer, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"{other.url}/token"})

    monkeypatch.setenv("GCE_METADATA_HOST", server.url.removeprefix("http://"))
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    account = json.dumps({"client_email": "me@x", "private_key": rsa_key(), "token_uri": f"{server.url}/token"})
    options: dict[str, Any] = {"auth": {"GoogleApplicationCredentials": account}}
    if by == "the metadata server":
        options = {"pod_identity": PodIdentity(provider="gcp"), "identities": IdentityRule(anywhere=True)}
    async with http_server() as other:
        server.answers |= {"/token": away, path: away}
        scaler = await bench.opened("prometheus", ask(server.url), **options)
        with pytest.raises(ScalerError, match=f"redirected to {other.url}, and a question for a token"):
            await scaler.read()
        assert not other.asked


async def test_the_gcp_identity_of_the_operator(
    bench: Any, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", server.url.removeprefix("http://"))
    await token_server(server, "/computeMetadata/v1/instance/service-accounts/default/token")
    anywhere = IdentityRule(anywhere=True)
    by_google = PodIdentity(provider="gcp")
    scaler = await bench.opened("prometheus", ask(server.url), pod_identity=by_google, identities=anywhere)
    assert (await scaler.read()).value == 7
    assert server.asked[0].headers["Metadata-Flavor"] == "Google"
    assert server.asked[1].headers["Authorization"] == "Bearer t0ken"
