"""Identities for Azure's services, and errors for triggers that name them wrongly; KEDA's recordings judge the readings."""

import pytest

from keda_py.cloud.azure_clouds import CLOUDS, cloud_named
from keda_py.errors import ConfigError
from keda_py.sdk.advanced import PodIdentity
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import scaler_class
from keda_py.testing import check_scaler
from tests.scalers.conftest import Bench
from tests.scalers.triggers import trigger_of

WORKLOAD = PodIdentity(provider="azure-workload", identity_id="client", identity_tenant_id="tenant")
MONITOR = {"subscriptionId": "s", "resourceGroupName": "g", "resourceURI": "a/b/c", "metricName": "m"}
INSIGHTS = {"metricId": "m", "metricAggregationTimespan": "0:5", "metricAggregationType": "avg"}
TRIGGERS = {
    "azure-servicebus": {"queueName": "q", "namespace": "shop"},
    "azure-monitor": {**MONITOR, "tenantId": "t", "targetValue": "1", "metricAggregationType": "Average"},
    "azure-log-analytics": {"workspaceId": "w", "query": "q", "threshold": "1"},
    "azure-app-insights": {**INSIGHTS, "applicationInsightsId": "a", "tenantId": "t", "targetValue": "1"},
    "azure-data-explorer": {
        "databaseName": "d",
        "endpoint": "https://c.kusto.windows.net",
        "query": "q",
        "threshold": "1",
    },
    "azure-pipelines": {"organizationURL": "https://dev.azure.com/shop", "poolID": "7"},
    "github-runner": {"owner": "shop", "runnerScope": "org"},
    "forgejo-runner": {"address": "https://forge.shop.example", "labels": "linux"},
    "selenium-grid": {"url": "http://grid.shop.example:4444/graphql"},
}
TOKENS = {"personalAccessToken": "token", "token": "token"}


@pytest.mark.parametrize("trigger_type", TRIGGERS)
async def test_the_contract_of_scalers_holds(trigger_type: str, lent: SharedContext) -> None:
    identity = WORKLOAD if trigger_type.startswith("azure") else PodIdentity()
    context = EngineContext(
        shared_context=lent, namespace="default", scaled_object="app", trigger_index=0, pod_identity=identity
    )
    trigger = trigger_of(trigger_type, TRIGGERS[trigger_type], auth=TOKENS)
    await check_scaler(scaler_class(trigger_type), trigger, context)


@pytest.mark.parametrize(
    ("trigger_type", "keys", "named"),
    [
        # Azure Relay has the same names, and hands a header on to the program of a tenant.
        ("azure-servicebus", {}, r"namespace: .*shop\.servicebus\.windows\.net"),
        ("azure-servicebus", {"namespace": "evil.example/x"}, r"namespace: .*evil\.example"),
        ("azure-data-explorer", {"endpoint": "https://evil.example"}, r"endpoint: .*evil\.example"),
        ("azure-pipelines", {"organizationURL": "https://evil.example/o"}, r"organizationURL: .*evil\.example"),
        (
            "azure-monitor",
            {"cloud": "Private", "azureResourceManagerEndpoint": "https://evil.example"},
            r"azureResourceManagerEndpoint: .*evil\.example",
        ),
        (
            "azure-log-analytics",
            {"cloud": "private", "logAnalyticsResourceURL": "https://evil.example"},
            r"logAnalyticsResourceURL: .*evil\.example",
        ),
    ],
)
async def test_the_operators_token_goes_to_no_address_of_a_tenants_choice(
    bench: Bench, trigger_type: str, keys: dict[str, str], named: str
) -> None:
    scaler = bench.scaler(trigger_type, {**TRIGGERS[trigger_type], **keys}, pod_identity=WORKLOAD)
    with pytest.raises(ConfigError, match=named):
        await scaler.open()


@pytest.mark.parametrize(
    ("connection", "told"),
    [
        ("secret", "blank or malformed"),
        ("SharedAccessKeyName=a;SharedAccessKey=secret", "no Endpoint"),
        ("Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=secret", "needs SharedAccessKeyName and"),
    ],
)
async def test_a_connection_string_that_lacks_something_is_not_shown(bench: Bench, connection: str, told: str) -> None:
    scaler = bench.scaler("azure-servicebus", {"queueName": "q"}, auth={"connection": connection})
    with pytest.raises(ConfigError, match=told) as raised:
        await scaler.open()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", [*CLOUDS, "AZUREPUBLICCLOUD", "AzureUSGovernment"])
def test_a_cloud_is_known_in_small_and_capital_letters(name: str) -> None:
    assert cloud_named(name) is not None


@pytest.mark.parametrize("name", ["Private", "Moon", ""])
def test_other_clouds_are_not_known(name: str) -> None:
    assert cloud_named(name) is None
