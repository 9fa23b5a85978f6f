"""The operator's own identity goes to no address that a trigger names, unless the installation or the cloud owns it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.sdk.registry import AnyScaler
from keda_py.testing import IdentityRule
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.scalers.prometheus.queries import VECTOR, ask

LISTED = IdentityRule(hosts=("127.0.0.1",))
ROLE = "arn:aws:iam::123456789012:role/reader"
IDENTITIES: dict[str, dict[str, Any]] = {
    "azure": {"pod_identity": PodIdentity(provider="azure-workload", identity_id="me")},
    "azure, of a ClusterTriggerAuthentication": {
        "pod_identity": PodIdentity(provider="azure-workload", identity_id="me", cluster_wide=True)
    },
    "google": {"pod_identity": PodIdentity(provider="gcp")},
    "google, of a ClusterTriggerAuthentication": {"pod_identity": PodIdentity(provider="gcp", cluster_wide=True)},
    "amazon": {"pod_identity": PodIdentity(provider="aws")},
    "amazon, role": {"pod_identity": PodIdentity(provider="aws", role_arn=ROLE)},
    "amazon, role of a parameter": {"auth": {"awsRoleArn": ROLE}},
    "amazon, without any authentication": {"owner": "operator"},
}
OWN_HOSTS = {
    "azure": "https://team.eastus.prometheus.monitor.azure.com",
    "google": "https://monitoring.googleapis.com/v1/projects/x/location/global/prometheus",
    "amazon": "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1",
}


@pytest.fixture
async def tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws_endpoint: str) -> AsyncIterator[HttpServer]:
    """A token endpoint of the operator's environment, which answers every caller."""
    (tmp_path / "federated").write_text("projected")
    async with http_server() as server:
        token = '{"access_token":"t0ken","expires_in":3600}'
        server.answers["/tenant/oauth2/v2.0/token"] = token
        server.answers["/computeMetadata/v1/instance/service-accounts/default/token"] = token
        for name, value in {
            "AZURE_FEDERATED_TOKEN_FILE": f"{tmp_path}/federated",
            "AZURE_AUTHORITY_HOST": server.url,
            "AZURE_TENANT_ID": "tenant",
            "GCE_METADATA_HOST": server.url.removeprefix("http://"),
            "AWS_ACCESS_KEY_ID": "OWN",
            "AWS_SECRET_ACCESS_KEY": "own",
            "AWS_ENDPOINT_URL_STS": aws_endpoint,
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def question(url: str, whose: str, **more: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Metadata, and the options of `Bench.opened`."""
    options = dict(IDENTITIES[whose])
    owner = {"identityOwner": options.pop("owner")} if "owner" in options else {}
    region = {"awsRegion": "eu-west-1"} if whose.startswith("amazon") else {}
    return ask(url, **owner, **region, **more), options


@pytest.mark.parametrize("whose", IDENTITIES)
async def test_a_prometheus_that_a_tenant_names(bench: Any, tokens: HttpServer, whose: str, tmp_path: Path) -> None:
    ours = Authority()
    async with http_server(ours.server_context(tmp_path)) as https, http_server() as http:
        for server in (https, http):
            server.answers["/api/v1/query"] = VECTOR % '{"value":[1,"7"]}'
        metadata, options = question(https.url, whose)
        options["auth"] = {**options.get("auth", {}), "ca": ours.cert}
        with pytest.raises(ConfigError, match='serverAddress: .* is not sent to host "127.0.0.1"') as refused:
            await bench.opened("prometheus", metadata, **options)
        assert "--operator-identity-hosts" in str(refused.value)
        over_http, _ = question(http.url, whose)
        with pytest.raises(ConfigError, match="serverAddress: http://127.0.0.1: .* goes over https only"):
            await bench.opened("prometheus", over_http, **options, identities=LISTED)
        assert not [*https.asked, *http.asked, *tokens.asked], "not even a token was asked for"

        scaler = await bench.opened("prometheus", metadata, **options, identities=LISTED)
        assert (await scaler.read()).value == 7
        scaler = await bench.opened("prometheus", over_http, **options, identities=IdentityRule(anywhere=True))
        assert (await scaler.read()).value == 7
    assert all("Authorization" in one.headers for one in (*https.asked, *http.asked))


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize("whose", IDENTITIES)
async def test_the_clouds_own_prometheus(bench: Any, whose: str) -> None:
    metadata, options = question(OWN_HOSTS[whose.partition(",")[0]], whose)
    assert await bench.opened("prometheus", metadata, **options)


async def test_the_azure_login_that_a_tenant_names(bench: Any, tokens: HttpServer) -> None:
    def identity(host: str, *, cluster_wide: bool = False) -> PodIdentity:
        return PodIdentity(
            provider="azure-workload",
            identity_id="me",
            identity_tenant_id="tenant",
            identity_authority_host=host,
            cluster_wide=cluster_wide,
        )

    metadata = ask(OWN_HOSTS["azure"])
    evil = "https://evil.example.org"
    with pytest.raises(ConfigError, match="identityAuthorityHost: the operator's federated token of Azure is not sent"):
        await bench.opened("prometheus", metadata, pod_identity=identity(evil))
    with pytest.raises(ConfigError, match="goes over https only"):
        await bench.opened("prometheus", metadata, pod_identity=identity(tokens.url, cluster_wide=True))
    for fine in (identity("https://login.microsoftonline.us"), identity(evil, cluster_wide=True)):
        assert await bench.opened("prometheus", metadata, pod_identity=fine)


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize("whose", [one for one in IDENTITIES if one.startswith("amazon")])
async def test_the_endpoint_of_amazon_that_a_tenant_names(bench: Any, whose: str) -> None:
    options = dict(IDENTITIES[whose])
    metadata = {"queueURL": "jobs", "awsRegion": "eu-west-1", "identityOwner": options.pop("owner", "pod")}
    evil = {**metadata, "awsEndpoint": "https://evil.example.org"}
    with pytest.raises(ConfigError, match='awsEndpoint: .* is not sent to host "evil.example.org"'):
        await bench.opened("aws-sqs-queue", evil, **options)
    assert await bench.opened("aws-sqs-queue", evil, **options, identities=IdentityRule(hosts=("*.example.org",)))
    assert await bench.opened("aws-sqs-queue", metadata, **options), "the region's own"


async def open_and_read(scaler: AnyScaler) -> None:
    await scaler.open()
    await scaler.read()


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize("region", ["x.evil.org", "evil.org/", "evil.org#", "evil.org:443/@"])
async def test_a_region_is_no_way_to_name_a_host(bench: Any, region: str) -> None:
    for kind, metadata in (
        ("aws-sqs-queue", {"queueURL": "jobs", "awsRegion": region}),
        ("prometheus", ask(OWN_HOSTS["amazon"], awsRegion=region)),
    ):
        scaler = bench.scaler(kind, metadata, pod_identity=PodIdentity(provider="aws", role_arn=ROLE))
        with pytest.raises(ScalerError, match="(?i)region"):
            await open_and_read(scaler)


async def test_an_access_key_of_ones_own_goes_where_one_likes(bench: Any) -> None:
    metadata = {"queueURL": "jobs", "awsRegion": "eu-west-1", "awsEndpoint": "http://evil.example.org"}
    keys = {"awsAccessKeyID": "AKID", "awsSecretAccessKey": "s3cret"}
    assert await bench.opened("aws-sqs-queue", metadata, auth=keys)
