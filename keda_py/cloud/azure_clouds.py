"""The clouds of Azure: where each logs in, and what its services are called there. A service comes with its user.

`Private` has no row: an object that says so names its login and its resource itself. The hosts to which the operator's
own identity may go are another list, in `net/operator_identity.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureCloud:
    """`authority` is the login's address; the others are resources, which the scope of a token begins with."""

    authority: str
    key_vault: str
    prometheus: str


CLOUDS: Mapping[str, AzureCloud] = {
    "AzurePublicCloud": AzureCloud(
        authority="https://login.microsoftonline.com",
        key_vault="https://vault.azure.net",
        prometheus="https://prometheus.monitor.azure.com",
    ),
    "AzureUSGovernmentCloud": AzureCloud(
        authority="https://login.microsoftonline.us",
        key_vault="https://vault.usgovcloudapi.net",
        prometheus="https://prometheus.monitor.azure.us",
    ),
    "AzureChinaCloud": AzureCloud(
        authority="https://login.chinacloudapi.cn",
        key_vault="https://vault.azure.cn",
        prometheus="https://prometheus.monitor.azure.cn",
    ),
}


def scope_of(resource: str) -> str:
    """What to ask for to use a resource."""
    return f"{resource.rstrip('/')}/.default"
