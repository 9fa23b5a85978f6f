"""Resources are shared within one tenant and credential only: every cache, with two namespaces."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from keda_py.cloud.aws import AccessKey, AmbientIdentity, AssumedRole, AwsIdentity
from keda_py.cloud.aws_sessions import credentials_of, open_session
from keda_py.errors import ScalerError
from keda_py.net.credential_keys import CredentialKey, OpenKey
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import Destination, PodIdentity, TlsSettings
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.testing import IdentityRule, shared_context
from scalers.prometheus import PrometheusMetadata
from scalers.shared.aws.aws import aws_identity
from scalers.shared.aws.aws_clients import AwsService, aws_client
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.gcp import gcp_token
from tests.certificates import Authority
from tests.http_server import http_server
from tests.scalers.prometheus.queries import VECTOR, ask, rsa_key

SHOP, BANK = "shop", "bank"
GOOD = {"password": "g00d"}
TO = Destination(url="https://prometheus", field="serverAddress")


def context(lent: SharedContext, namespace: str, **more: Any) -> EngineContext:
    return EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0, **more)


@pytest.mark.parametrize("other", [{"password": "rubbish"}, {}], ids=["rubbish", "none"])
async def test_a_redis_pool_and_its_answers_are_for_who_has_the_password(
    bench: Any, run_redis: Any, other: Any
) -> None:
    with run_redis("--requirepass", "g00d") as port:
        metadata = {"host": "127.0.0.1", "port": str(port), "listName": "jobs"}
        mine = await bench.opened("redis", metadata, auth=GOOD, namespace=SHOP)
        assert (await mine.read()).value == 0
        for namespace in (BANK, SHOP):
            theirs = bench.scaler("redis", metadata, auth=other, namespace=namespace)
            with pytest.raises(ScalerError, match=r"(?i)invalid username-password|authentication required"):
                await theirs.open()
            assert theirs.batch_key != mine.batch_key


async def test_tenants_with_one_password_have_a_pool_each_and_without_any_they_share_one(
    bench: Any, run_redis: Any, redis_port: int
) -> None:
    with run_redis("--requirepass", "g00d") as port:
        metadata = {"host": "127.0.0.1", "port": str(port), "listName": "jobs"}
        mine, same, theirs = [
            await bench.opened("redis", metadata, auth=GOOD, namespace=one) for one in (SHOP, SHOP, BANK)
        ]
        assert mine._redis is same._redis
        assert mine._redis is not theirs._redis
        assert mine.batch_key == same.batch_key != theirs.batch_key
        assert isinstance(mine.batch_key, CredentialKey)
        assert "g00d" not in repr(mine.batch_key)
    metadata["port"] = str(redis_port)
    open_to_all = [await bench.opened("redis", metadata, namespace=one) for one in (SHOP, BANK)]
    assert open_to_all[0]._redis is open_to_all[1]._redis
    assert open_to_all[0].batch_key == open_to_all[1].batch_key
    assert isinstance(open_to_all[0].batch_key, OpenKey)


async def test_a_client_certificate_is_its_tenants_alone(bench: Any, tmp_path: Path) -> None:
    ours = Authority()
    pair = ours.leaf("keda")
    with_key = TlsSettings(ca=ours.cert, cert=pair.cert, key=pair.key)
    one, other = context(bench.lent, SHOP), context(bench.lent, BANK)
    mine = one.tls_context(with_key)
    assert mine is one.tls_context(with_key)
    assert mine is not other.tls_context(with_key)
    trusts = TlsSettings(ca=ours.cert)
    assert one.tls_context(trusts) is other.tls_context(trusts), "trust is no credential"
    async with http_server(ours.server_context(tmp_path, wants_client=True)) as server:
        server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
        auth = {"cert": pair.cert, "key": pair.key, "ca": ours.cert}
        scaler = await bench.opened("prometheus", ask(server.url, authModes="tls"), auth=auth, namespace=SHOP)
        assert (await scaler.read()).value == 7
        for namespace in (BANK, SHOP):
            stranger = await bench.opened("prometheus", ask(server.url), auth={"ca": ours.cert}, namespace=namespace)
            with pytest.raises(ScalerError, match="prometheus|Get"):
                await stranger.read()
    assert len(server.asked) == 1, "no kept connection was lent to anybody"


Token = Callable[[EngineContext], Awaitable[object]]


def gcp(lent: SharedContext, namespace: str, email: str, key: str) -> Awaitable[object]:
    account = json.dumps({"client_email": email, "private_key": key, "token_uri": "https://g"})
    auth = {"GoogleApplicationCredentials": account}
    metadata = PrometheusMetadata.parse(ask("https://prometheus"), {}, as_secrets(auth))
    return gcp_token(context(lent, namespace), metadata, "scope", TO)


async def test_a_token_of_google_is_for_one_key_of_one_tenant(bench: Any) -> None:
    key = rsa_key()
    mine, same, theirs, another = [
        await gcp(bench.lent, namespace, email, key)
        for namespace, email in ((SHOP, "me@x"), (SHOP, "me@x"), (BANK, "me@x"), (SHOP, "you@x"))
    ]
    assert mine is same
    assert len({id(mine), id(theirs), id(another)}) == 3


async def test_a_token_of_the_operators_own_identity_is_shared_within_a_tenant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = {"CLIENT_ID": "c", "TENANT_ID": "t", "AUTHORITY_HOST": "https://a", "FEDERATED_TOKEN_FILE": "/missing"}
    for name, value in given.items():
        monkeypatch.setenv(f"AZURE_{name}", value)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    metadata = PrometheusMetadata.parse(ask("https://prometheus"), {}, {})
    identities = [PodIdentity(provider="azure-workload", identity_id=one) for one in ("a", "b")]
    by_google = PodIdentity(provider="gcp")
    async with shared_context(identities=IdentityRule(hosts=("prometheus",))) as lent:
        for first, second, ask_for in (
            (identities[0], identities[1], lambda own: azure_token(own, "scope", TO)),
            (by_google, None, lambda own: gcp_token(own, metadata, "scope", TO)),
        ):
            asked: Token = ask_for
            mine, same, theirs = [await asked(context(lent, one, pod_identity=first)) for one in (SHOP, SHOP, BANK)]
            assert mine is same
            assert mine is not theirs
            other = await asked(context(lent, SHOP, pod_identity=second or PodIdentity()))
            assert other is None if second is None else other is not mine


def access_key(secret: str) -> AwsIdentity:
    auth = {"awsAccessKeyID": "AKID", "awsSecretAccessKey": secret}
    return aws_identity(PrometheusMetadata.parse(ask("https://p"), {}, as_secrets(auth)), PodIdentity())


async def test_a_client_of_amazon_is_for_one_identity_of_one_tenant(lent: SharedContext) -> None:
    identities: list[AwsIdentity] = [
        access_key("g00d"),
        access_key("rubbish"),
        AmbientIdentity(),
        AssumedRole(arn="arn:a"),
        AssumedRole(arn="arn:b"),
        AssumedRole(arn="arn:a", external_id="x"),
        AssumedRole(arn="arn:a", by_web_identity=True),
    ]
    keys = set()
    contexts = {one: context(lent, one) for one in (SHOP, BANK)}
    for identity in identities:
        service = AwsService(service="sqs", region="eu-west-1", endpoint="", identity=identity)
        mine, same, theirs = [await aws_client(service, contexts[one]) for one in (SHOP, SHOP, BANK)]
        assert mine is same
        assert mine is not theirs
        keys |= {service.key(SHOP), service.key(BANK)}
    assert len(keys) == 2 * len(identities)
    assert not [key for key in keys if "g00d" in repr(key)]
    for one in contexts.values():
        await one.aclose()


async def test_a_session_cookie_is_given_to_no_other_tenant(bench: Any) -> None:
    async def log_in(request: web.Request) -> web.Response:
        known = "Authorization" in request.headers or "session" in request.cookies
        headers = {"Set-Cookie": "session=s3cret; Path=/"} if known else {}
        return web.Response(status=200 if known else 401, text=VECTOR % '{"value":[1,"7"]}', headers=headers)

    async with http_server() as server:
        server.answers["/api/v1/query"] = log_in
        auth = {"username": "me", "password": "g00d"}
        scaler = await bench.opened("prometheus", ask(server.url, authModes="basic"), auth=auth, namespace=SHOP)
        assert (await scaler.read()).value == 7
        stranger = await bench.opened("prometheus", ask(server.url), namespace=BANK)
        with pytest.raises(ScalerError, match="status: 401"):
            await stranger.read()


async def test_the_files_that_describe_amazons_services_are_read_once_and_no_credential_goes_with_them() -> None:
    """They are megabytes of JSON, parsed on the loop."""
    keys = [
        AccessKey(key_id=SecretStr(tenant), secret=SecretStr(tenant), token=SecretStr("")) for tenant in ("red", "blue")
    ]
    red, blue = (open_session(key, "eu-west-1", 3.0) for key in keys)
    assert red.get_component("data_loader") is blue.get_component("data_loader")
    assert [(await credentials_of(session)).access_key for session in (red, blue)] == ["red", "blue"]
