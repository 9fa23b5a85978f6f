"""AWS: one session for one identity, for every service, and the sources of the operator's own."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.cloud import aws
from keda_py.cloud.aws_sessions import credentials_of
from keda_py.errors import ConfigError
from keda_py.net.operator_identity import Destination
from keda_py.sdk.context import EngineContext
from tests.http_server import HttpServer

ROLE = "arn:aws:iam::123456789012:role/reader"
ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>AKROLE</AccessKeyId><SecretAccessKey>s3cret</SecretAccessKey><SessionToken>t0ken</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


async def test_a_role_is_assumed_once_for_all_who_use_it(
    nowhere: EngineContext, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ACCESS_KEY_ID": "OWN", "SECRET_ACCESS_KEY": "own", "ENDPOINT_URL_STS": server.url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    server.answers["/"] = ASSUMED
    identity = aws.AssumedRole(arn=ROLE, external_id="of-the-shop")
    sessions = [await aws.session(nowhere, identity, "eu-west-1") for _ in range(10)]
    found = await asyncio.gather(*map(credentials_of, sessions))
    assert {one.access_key for one in found} == {"AKROLE"}
    assert len(server.asked) == 1
    other = await aws.session(nowhere, aws.AssumedRole(arn=ROLE), "eu-west-1")
    assert other is not sessions[0], "another external id may be refused"


async def test_a_refusal_is_that_of_all_who_waited(
    nowhere: EngineContext, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"
        return web.Response(status=403, text=body)

    for name, value in {"ACCESS_KEY_ID": "OWN", "SECRET_ACCESS_KEY": "own", "ENDPOINT_URL_STS": server.url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    server.answers["/"] = refuse
    session = await aws.session(nowhere, aws.AssumedRole(arn=ROLE), "eu-west-1")
    asked = (credentials_of(session) for _ in range(10))
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert all("AccessDenied" in str(one) for one in outcomes), outcomes
    assert len(server.asked) == 1


async def test_the_operators_own_may_be_an_eks_pod_identity(
    nowhere: EngineContext, server: HttpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("pr0jected")

    async def give(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "pr0jected":
            return web.Response(status=403)
        pair = {"AccessKeyId": "AKPOD", "SecretAccessKey": "s3cret", "Token": "t0ken"}
        return web.json_response({**pair, "Expiration": "2099-01-01T00:00:00Z"})

    server.answers["/v1/credentials"] = give
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    session = await aws.session(nowhere, aws.AmbientIdentity(), "eu-west-1")
    assert (await credentials_of(session)).access_key == "AKPOD"


@pytest.mark.parametrize("identity", [aws.AmbientIdentity(), aws.AssumedRole(arn=ROLE)])
async def test_the_operators_identity_signs_for_no_host_of_a_tenant(
    nowhere: EngineContext, identity: aws.AwsIdentity
) -> None:
    to = Destination(url="https://evil.example.org", field="awsEndpoint")
    with pytest.raises(ConfigError, match="identity for AWS is not sent to host") as refused:
        await aws.session(nowhere, identity, "eu-west-1", to=to)
    assert refused.value.field == "awsEndpoint"
