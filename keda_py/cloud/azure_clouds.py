"""Azure's clouds: their logins and the names of their services.

`Private` has no row: such an object names its login and its resource itself. The hosts that may receive the operator's
own identity are a separate list, in `net/operator_identity.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PRIVATE = "Private"
STORAGE = "https://storage.azure.com"
SERVICE_BUS = "https://servicebus.azure.net"
DEVOPS = "499b84ac-1321-427f-aa17-267ca6975798"
"""Resources with the same name in every cloud."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureCloud:
    """Names of one cloud: `authority` is the login's address; `..._suffix` end the hosts of accounts and namespaces.

    The other fields are resources: addresses of a service, with which the scope of a token begins.
    """

    authority: str
    key_vault: str
    prometheus: str
    storage_suffix: str
    service_bus_suffix: str
    management: str
    log_analytics: str
    app_insights: str
    data_explorer: str


CLOUDS: Mapping[str, AzureCloud] = {
    "AzurePublicCloud": AzureCloud(
        authority="https://login.microsoftonline.com",
        key_vault="https://vault.azure.net",
        prometheus="https://prometheus.monitor.azure.com",
        storage_suffix="core.windows.net",
        service_bus_suffix="servicebus.windows.net",
        management="https://management.azure.com",
        log_analytics="https://api.loganalytics.io",
        app_insights="https://api.applicationinsights.io",
        data_explorer="https://kusto.kusto.windows.net",
    ),
    "AzureUSGovernmentCloud": AzureCloud(
        authority="https://login.microsoftonline.us",
        key_vault="https://vault.usgovcloudapi.net",
        prometheus="https://prometheus.monitor.azure.us",
        storage_suffix="core.usgovcloudapi.net",
        service_bus_suffix="servicebus.usgovcloudapi.net",
        management="https://management.usgovcloudapi.net",
        log_analytics="https://api.loganalytics.us",
        app_insights="https://api.applicationinsights.us",
        data_explorer="https://kusto.kusto.usgovcloudapi.net",
    ),
    "AzureChinaCloud": AzureCloud(
        authority="https://login.chinacloudapi.cn",
        key_vault="https://vault.azure.cn",
        prometheus="https://prometheus.monitor.azure.cn",
        storage_suffix="core.chinacloudapi.cn",
        service_bus_suffix="servicebus.chinacloudapi.cn",
        management="https://management.chinacloudapi.cn",
        log_analytics="https://api.loganalytics.azure.cn",
        app_insights="https://api.applicationinsights.azure.cn",
        data_explorer="https://kusto.kusto.chinacloudapi.cn",
    ),
}


def cloud_named(name: str) -> AzureCloud | None:
    """Return the cloud of a name, in any case and with or without "Cloud"; None if unknown, as `Private` is."""
    wanted = name.lower().removesuffix("cloud")
    return next((cloud for known, cloud in CLOUDS.items() if known.lower().removesuffix("cloud") == wanted), None)


def scope_of(resource: str) -> str:
    """Return the scope that gives access to a resource."""
    return f"{resource.rstrip('/')}/.default"
