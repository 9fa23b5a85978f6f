"""Google: external accounts of the installation; keys and the metadata server are tested where they are used."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from keda_py.cloud import gcp
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.operator_identity import Destination
from keda_py.sdk.context import EngineContext
from tests.cloud.conftest import recording
from tests.http_server import HttpServer

TO = Destination(url="https://monitoring.googleapis.com", field="serverAddress", service="google")


def external(server: HttpServer, folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "type": "external_account",
        "audience": "//iam/pool",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{server.url}/sts",
        "credential_source": {"file": str(folder / "subject")},
        **more,
    }


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("impersonates", [False, True])
async def test_a_foreign_token_is_exchanged_for_one_of_googles(
    nowhere: EngineContext,
    server: HttpServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    form: str,
    impersonates: bool,
) -> None:
    sent: list[dict[str, Any]] = []
    server.answers["/sts"] = recording(sent, {"access_token": "federated", "expires_in": 3600})
    server.answers["/impersonate"] = recording(sent, {"accessToken": "t0ken"})
    more: dict[str, Any] = {"service_account_impersonation_url": f"{server.url}/impersonate"} if impersonates else {}
    (tmp_path / "subject").write_text("f0reign\n")
    if form == "json":
        (tmp_path / "subject").write_text('{"token": "f0reign"}')
        told = {"type": "json", "subject_token_field_name": "token"}
        more["credential_source"] = {"file": str(tmp_path / "subject"), "format": told}
    (tmp_path / "adc.json").write_text(json.dumps(external(server, tmp_path, **more)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    for _ in range(2):
        source = await gcp.token_source(nowhere, gcp.OperatorIdentity(), gcp.CLOUD_PLATFORM, to=TO)
        assert (await source.token()).get_secret_value() == ("t0ken" if impersonates else "federated")
    assert sent[0]["subject_token"] == "f0reign"
    assert sent[0]["audience"] == "//iam/pool"
    assert len(sent) == 1 + impersonates, "asked once for both"
    if impersonates:
        assert sent[1] == {"scope": [gcp.CLOUD_PLATFORM], "lifetime": "3600s"}
        assert server.asked[1].headers["Authorization"] == "Bearer federated"


async def test_an_external_account_of_a_tenant_reads_no_file_of_the_operators(
    anywhere: EngineContext, server: HttpServer, tmp_path: Path
) -> None:
    (tmp_path / "subject").write_text("s3cret")
    key = gcp.ServiceAccountKey(json=SecretStr(json.dumps(external(server, tmp_path))))
    with pytest.raises(ConfigError, match="GoogleApplicationCredentials: an external account reads a file"):
        await gcp.token_source(anywhere, key, gcp.CLOUD_PLATFORM, to=TO)
    with pytest.raises(ConfigError, match="GoogleApplicationCredentials: an external account reads a file"):
        await gcp.project_of(anywhere, key)
    assert server.asked == []


async def test_a_file_of_another_kind_is_refused_by_its_fields_alone(
    nowhere: EngineContext, server: HttpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"executable": {"command": "s3cret"}}
    (tmp_path / "adc.json").write_text(json.dumps(external(server, tmp_path, credential_source=source)))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    with pytest.raises(ConfigError, match=r"credential_source\.file: missing or not understood") as refused:
        await gcp.token_source(nowhere, gcp.OperatorIdentity(), gcp.CLOUD_PLATFORM)
    assert "s3cret" not in str(refused.value)


async def test_a_file_that_cannot_be_read_is_tried_again(
    nowhere: EngineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/missing")
    with pytest.raises(ScalerError, match="GOOGLE_APPLICATION_CREDENTIALS /missing cannot be read"):
        await gcp.token_source(nowhere, gcp.OperatorIdentity(), gcp.CLOUD_PLATFORM)


async def test_the_operators_token_goes_to_no_host_of_a_tenant(nowhere: EngineContext) -> None:
    to = Destination(url="https://evil.example.org", field="serverAddress", service="google")
    with pytest.raises(ConfigError, match="token of Google is not sent to host") as refused:
        await gcp.token_source(nowhere, gcp.OperatorIdentity(), gcp.CLOUD_PLATFORM, to=to)
    assert refused.value.field == "serverAddress"
