"""Precedence of sources, their namespaces, and missing values that are not an error."""

import json
from pathlib import Path

import pytest

from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.sdk.advanced import PodIdentity
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import a_namespace, authentication, config_map, deployment, from_key, secret
from tests.worlds.world import World

CTA = "ClusterTriggerAuthentication"


async def test_a_later_source_overwrites_an_earlier_one(working: World) -> None:
    await working.apply(
        config_map("conf", a="configmap", b="configmap", c="configmap"),
        secret("creds", b="secret", c="secret", client="oauth"),
        authentication(
            "auth",
            env=[{"parameter": name, "name": "PLAIN"} for name in "xab"],
            configMapTargetRef=[from_key(name, "conf", name) for name in "abc"],
            secretTargetRef=[from_key("b", "creds", "b"), from_key("c", "creds", "nope")],
            oauth2={
                "type": "clientCredentials",
                "clientId": "me",
                "clientSecret": {"valueFrom": {"secretKeyRef": {"name": "creds", "key": "client"}}},
                "tokenUrl": "https://id.example.com/token",
                "scopes": ["read", "write"],
                "tokenUrlParams": {"audience": "a b", "x": "1"},
            },
        ),
    )
    assert (await resolve(working, redis_trigger("auth"))).auth == {
        "x": "p",
        "a": "configmap",
        "b": "secret",
        "c": "",
        "oauthTokenURI": "https://id.example.com/token",
        "clientID": "me",
        "clientSecret": "oauth",
        "scopes": "read,write",
        "endpointParams": "audience=a+b&x=1",
    }


async def test_a_cluster_wide_one_has_its_secrets_in_the_operators_namespace(world: World) -> None:
    await world.apply(
        a_namespace("keda"),
        deployment("app"),
        secret("creds", password="here"),
        secret("creds", "keda", password="there"),
        authentication("auth", secretTargetRef=[from_key("password", "creds", "password")]),
        authentication("auth", CTA, secretTargetRef=[from_key("password", "creds", "password")]),
    )
    async with world.operator.running({"KEDA_CLUSTER_OBJECT_NAMESPACE": "keda"}):
        assert (await resolve(world, redis_trigger("auth"))).auth == {"password": "here"}
        assert (await resolve(world, redis_trigger("auth", CTA))).auth == {"password": "there"}


async def test_restricted_access_reads_secrets_there_whatever_was_meant(world: World) -> None:
    await world.apply(
        a_namespace("keda"),
        deployment("app"),
        secret("creds", password="here"),
        secret("creds", "keda", password="there"),
        config_map("conf", key="here"),
        authentication(
            "auth",
            secretTargetRef=[from_key("password", "creds", "password")],
            configMapTargetRef=[from_key("key", "conf", "key")],
        ),
    )
    env = {"KEDA_CLUSTER_OBJECT_NAMESPACE": "keda", "KEDA_RESTRICT_SECRET_ACCESS": "true"}
    async with world.operator.running(env):
        assert (await resolve(world, redis_trigger("auth"))).auth == {"key": "here", "password": "there"}


async def test_what_is_missing_is_told_once_and_no_error(working: World, caplog: pytest.LogCaptureFixture) -> None:
    await working.apply(
        config_map("conf", a="1"),
        authentication(
            "auth",
            secretTargetRef=[from_key("a", "nope", "x")],
            configMapTargetRef=[from_key("b", "nope", "x"), from_key("c", "conf", "x")],
        ),
    )
    for _ in range(3):
        assert (await resolve(working, redis_trigger("auth"))).auth == {"a": "", "b": "", "c": ""}
    told = [(record.kind, record.source) for record in caplog.records if hasattr(record, "source")]  # type: ignore[attr-defined]
    assert told == [("configmap", "nope"), ("key of a configmap", "conf"), ("secret", "nope")]


async def test_an_authentication_that_does_not_exist_gives_nothing(working: World) -> None:
    trigger = redis_trigger("auth", CTA)
    await working.apply(authentication("auth", CTA))
    await resolve(working, trigger)
    trigger["authenticationRef"] = {"name": "auth"}
    await working.apply(authentication("auth"))
    assert (await resolve(working, trigger)).auth == {}
    assert (await resolve(working, redis_trigger())).pod_identity == PodIdentity()


@pytest.mark.parametrize(
    ("identity", "seen"),
    [
        pytest.param({"provider": "none"}, PodIdentity(provider="none"), id="none"),
        pytest.param({"provider": "gcp"}, PodIdentity(provider="gcp"), id="gcp"),
        pytest.param(
            {
                "provider": "azure-workload",
                "identityId": "i",
                "identityTenantId": "t",
                "identityAuthorityHost": "https://a",
            },
            PodIdentity(
                provider="azure-workload",
                identity_id="i",
                identity_tenant_id="t",
                identity_authority_host="https://a",
            ),
            id="azure",
        ),
        pytest.param(
            {"provider": "aws", "roleArn": "arn:aws:iam::1:role/r", "externalID": "x"},
            PodIdentity(provider="aws", role_arn="arn:aws:iam::1:role/r", external_id="x"),
            id="aws",
        ),
    ],
)
async def test_the_scaler_is_told_the_pod_identity(working: World, identity: Obj, seen: PodIdentity) -> None:
    await working.apply(authentication("auth", podIdentity=identity))
    found = await resolve(working, redis_trigger("auth"))
    assert found.pod_identity == seen
    assert found.auth == ({"awsRoleArn": seen.role_arn} if seen.role_arn else {})


async def test_an_aws_role_may_be_the_workloads(working: World) -> None:
    role = "arn:aws:iam::1:role/app"
    annotated = {"name": "robot", "namespace": "default", "annotations": {"eks.amazonaws.com/role-arn": role}}
    robot = deployment("robot")
    robot["spec"]["template"]["spec"]["serviceAccountName"] = "robot"
    await working.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": annotated},
        robot,
        authentication("aws", podIdentity={"provider": "aws", "identityOwner": "workload"}),
        authentication("eks", podIdentity={"provider": "aws-eks"}),
    )
    assert (await resolve(working, redis_trigger("aws"), "robot")).auth == {"awsRoleArn": role}
    assert (await resolve(working, redis_trigger("eks"), "robot")).auth == {"awsRoleArn": role}
    assert (await resolve(working, redis_trigger("eks"))).auth == {"awsRoleArn": ""}
    with pytest.raises(ConfigError, match="has no annotation eks.amazonaws.com/role-arn"):
        await resolve(working, redis_trigger("aws"))


async def test_a_file_stands_for_every_other_source(world: World, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "creds.json").write_text(json.dumps({"password": "file"}))
    (tmp_path / "root" / "list.json").write_text("[1]")
    (tmp_path / "secret.json").write_text(json.dumps({"password": "other"}))
    (tmp_path / "root" / "link.json").symlink_to(tmp_path / "secret.json")
    await world.apply(
        a_namespace("keda"),
        deployment("app"),
        secret("creds", "keda", a="1"),
        authentication("file", CTA, filePath="creds.json", secretTargetRef=[from_key("a", "creds", "a")]),
        authentication("namespaced", filePath="creds.json"),
        *(authentication(name, CTA, filePath=path) for name, path in WRONG_FILES.items()),
    )
    async with world.operator.running(
        {"KEDA_CLUSTER_OBJECT_NAMESPACE": "keda"}, filepath_auth_root_path=f"{tmp_path}/root"
    ):
        assert (await resolve(world, redis_trigger("file", CTA))).auth == {"password": "file"}
        with pytest.raises(ConfigError, match="only supported for ClusterTriggerAuthentication, got kind: $"):
            await resolve(world, redis_trigger("namespaced"))
        for name in WRONG_FILES:
            with pytest.raises(ConfigError, match="filePath") as error:
                await resolve(world, redis_trigger(name, CTA))
            assert "other" not in str(error.value)


WRONG_FILES = {
    "outside": "../secret.json",
    "absolute": "/etc/passwd",
    "link": "link.json",
    "absent": "nope.json",
    "list": "list.json",
    "no-name": "a\0b",
}


async def test_a_file_needs_the_operators_consent(working: World) -> None:
    await working.apply(authentication("file", CTA, filePath="creds.json"))
    with pytest.raises(ConfigError, match="--filepath-auth-root-path"):
        await resolve(working, redis_trigger("file", CTA))


async def test_a_bound_token_is_the_service_accounts_and_serves_for_a_while(working: World) -> None:
    meta = {"name": "robot", "namespace": "default"}
    tokens = [{"parameter": "token", "serviceAccountName": name} for name in ("robot",)]
    await working.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        authentication("auth", boundServiceAccountToken=tokens),
        authentication("absent", boundServiceAccountToken=[{"parameter": "token", "serviceAccountName": "nope"}]),
    )
    first = (await resolve(working, redis_trigger("auth"))).auth["token"]
    token = working.cluster.identity.token(first)
    assert token is not None
    assert token.user.name == "system:serviceaccount:default:robot"
    assert (await resolve(working, redis_trigger("auth"))).auth["token"] == first
    assert (await resolve(working, redis_trigger("absent"))).auth == {"token": ""}
