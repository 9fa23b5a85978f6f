"""Azure: which identity logs in, where, and with which credential."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from keda_py.cloud import azure
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.operator_identity import Destination
from keda_py.sdk.context import EngineContext
from tests.cloud.conftest import recording
from tests.http_server import HttpServer

SCOPE = "https://vault.azure.net/.default"
TO = Destination(url="https://team.vault.azure.net", field="vaultUri", service="azure key vault")
GIVEN = {"access_token": "t0ken", "expires_in": "3600"}


def login_at(url: str) -> Destination:
    return Destination(url=url, field="activeDirectoryEndpoint", service="azure login")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    (tmp_path / "federated").write_text("assert1on\n")
    given = {"CLIENT_ID": "operator", "TENANT_ID": "home", "FEDERATED_TOKEN_FILE": str(tmp_path / "federated")}
    for name, value in given.items():
        monkeypatch.setenv(f"AZURE_{name}", value)
    return monkeypatch


async def test_a_secret_of_the_tenants_own_goes_to_the_login_that_it_names(
    nowhere: EngineContext, server: HttpServer
) -> None:
    sent: list[dict[str, Any]] = []
    server.answers["/theirs/oauth2/v2.0/token"] = recording(sent, GIVEN)
    identity = azure.ClientSecret(tenant_id="theirs", client_id="app", secret=SecretStr("s3cret"))
    for _ in range(2):
        source = await azure.token_source(nowhere, identity, SCOPE, to=TO, login=login_at(f"{server.url}/"))
        assert (await source.token()).get_secret_value() == "t0ken"
    assert sent == [
        {"grant_type": "client_credentials", "scope": SCOPE, "client_id": "app", "client_secret": "s3cret"}
    ], "asked once for both"
    assert "s3cret" not in repr(identity)


@pytest.mark.parametrize("by", ["the cloud", "the operator's environment", "the podIdentity"])
async def test_the_federated_token_goes_to_the_nearest_login_that_is_named(
    anywhere: EngineContext, server: HttpServer, environment: pytest.MonkeyPatch, by: str
) -> None:
    sent: list[dict[str, Any]] = []
    server.answers["/home/oauth2/v2.0/token"] = recording(sent, GIVEN)
    nobodys = "http://127.0.0.1:1"
    cloud, host = login_at(server.url if by == "the cloud" else nobodys), ""
    if by != "the cloud":
        environment.setenv("AZURE_AUTHORITY_HOST", server.url if by != "the podIdentity" else nobodys)
    if by == "the podIdentity":
        host = server.url
    identity = azure.WorkloadIdentity(client_id="me", authority_host=host)
    source = await azure.token_source(anywhere, identity, SCOPE, to=TO, login=cloud)
    await source.token()
    assert sent[0]["client_id"] == "me"
    assert sent[0]["client_assertion"] == "assert1on"


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("identity", "to", "field"),
    [
        (azure.WorkloadIdentity(authority_host="https://evil.example.org"), TO, "podIdentity.identityAuthorityHost"),
        (azure.WorkloadIdentity(), Destination(url="https://evil.example.org", field="vaultUri"), "vaultUri"),
    ],
)
async def test_the_operators_identity_goes_to_no_host_of_a_tenant(
    nowhere: EngineContext, identity: azure.WorkloadIdentity, to: Destination, field: str
) -> None:
    login = login_at("https://login.microsoftonline.com")
    with pytest.raises(ConfigError, match="--operator-identity-hosts") as refused:
        await azure.token_source(nowhere, identity, SCOPE, to=to, login=login)
    assert refused.value.field == field


async def test_what_is_missing_is_named_together_with_where_to_set_it(nowhere: EngineContext) -> None:
    identity = azure.WorkloadIdentity(client_id="me", field="spec.podIdentity")
    named = "AZURE_TENANT_ID, AZURE_AUTHORITY_HOST, AZURE_FEDERATED_TOKEN_FILE is missing: set it in"
    with pytest.raises(ConfigError, match=named) as refused:
        await azure.token_source(nowhere, identity, SCOPE, to=TO)
    assert refused.value.field == "spec.podIdentity"


async def test_a_federated_token_that_cannot_be_read_is_tried_again(
    anywhere: EngineContext, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("AZURE_FEDERATED_TOKEN_FILE", "/missing")
    login = login_at("http://127.0.0.1:1")
    source = await azure.token_source(anywhere, azure.WorkloadIdentity(), SCOPE, to=TO, login=login)
    with pytest.raises(ScalerError, match="AZURE_FEDERATED_TOKEN_FILE /missing cannot be read: FileNotFoundError"):
        await source.token()
