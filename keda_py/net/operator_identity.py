"""Rule for the operator's own identity: the only place that decides which addresses may receive it.

The operator's identity is every credential that a tenant does not have: VAULT_TOKEN, its ServiceAccount's token and
those in other files of its pod, Azure's federated token, AWS' web identity, instance role and what those assume,
Google's workload identity, and every token obtained with one of them. KEDA sends these to any address that a
TriggerAuthentication or a trigger names. Here they go

- over https only, and - where the installation has named the address: it stands in a ClusterTriggerAuthentication, or
its host is in   --operator-identity-hosts; or where the host is the cloud's own, regardless of its author
(`_OWN_HOSTS`).

An address that a trigger names (`serverAddress`, `awsEndpoint`) is the tenant's, although the identity may come from a
ClusterTriggerAuthentication: every namespace may refer to that. What the operator's environment names
(AZURE_AUTHORITY_HOST, AWS_ENDPOINT_URL, GCE_METADATA_HOST) is the installation's own choice, and the address that a
cloud's library derives from a region is the cloud's: neither is checked here. --operator-identity-anywhere is KEDA's
behaviour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from keda_py.errors import ConfigError

if TYPE_CHECKING:
    import httpx

Service = Literal[
    "azure login",
    "azure key vault",
    "azure prometheus",
    "azure postgresql",
    "azure sql",
    "azure storage",
    "azure event hubs",
    "azure monitor",
    "azure data explorer",
    "azure devops",
    "amazon prometheus",
    "google",
]

# Domains in which only the cloud's own servers answer, so that no tenant can receive a token there.
_OWN_HOSTS: Mapping[Service, Sequence[str]] = {
    "azure login": (
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.chinacloudapi.cn",
        "login.partner.microsoftonline.cn",
    ),
    "azure key vault": (
        "*.vault.azure.net",
        "*.vault.usgovcloudapi.net",
        "*.vault.azure.cn",
        "*.managedhsm.azure.net",
    ),
    "azure prometheus": (
        "*.prometheus.monitor.azure.com",
        "*.prometheus.monitor.azure.us",
        "*.prometheus.monitor.azure.cn",
    ),
    "azure postgresql": (
        "*.postgres.database.azure.com",
        "*.postgres.database.usgovcloudapi.net",
        "*.postgres.database.chinacloudapi.cn",
    ),
    "azure sql": (
        "*.database.windows.net",
        "*.database.usgovcloudapi.net",
        "*.database.chinacloudapi.cn",
    ),
    "azure storage": tuple(
        f"*.{service}.{suffix}"
        for service in ("blob", "queue")
        for suffix in ("core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn")
    ),
    # For AMQP only: over HTTPS these names belong to Azure Relay too, which forwards headers to a tenant's program.
    "azure event hubs": ("*.servicebus.windows.net", "*.servicebus.usgovcloudapi.net", "*.servicebus.chinacloudapi.cn"),
    "azure monitor": (
        *("management.azure.com", "management.usgovcloudapi.net", "management.chinacloudapi.cn"),
        *("api.loganalytics.io", "api.loganalytics.us", "api.loganalytics.azure.cn"),
        *("api.applicationinsights.io", "api.applicationinsights.us", "api.applicationinsights.azure.cn"),
    ),
    "azure data explorer": ("*.kusto.windows.net", "*.kusto.usgovcloudapi.net", "*.kusto.chinacloudapi.cn"),
    # Not "*.visualstudio.com": any customer's program could have a name there.
    "azure devops": ("dev.azure.com",),
    # Not "*.amazonaws.com": any customer's load balancers and machines have names there.
    "amazon prometheus": ("aps-workspaces.*.amazonaws.com", "aps-workspaces.*.amazonaws.com.cn"),
    "google": ("*.googleapis.com",),
}
_IN_A_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Address that would receive an identity; `field` names it, in an object or in a trigger.

    `service` adds the cloud's own hosts. `by_installation`: the address is in a ClusterTriggerAuthentication.
    """

    url: str
    field: str
    service: Service | None = None
    by_installation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRule:
    """Addresses that the installation allows: `hosts` are names, or `*.suffix` for names below one, in lower case."""

    hosts: tuple[str, ...] = ()
    anywhere: bool = False

    def puts_operator_first(self, *, by_installation: bool) -> bool:
        """Return whether VAULT_TOKEN takes precedence over a token in the object, as it always does in KEDA."""
        return self.anywhere or by_installation

    def check(self, identity: str, to: Destination) -> None:
        """Check one use of an identity such as "VAULT_TOKEN". Raises ConfigError that names field, host and remedy."""
        if self.anywhere:
            return
        url = _parse(identity, to)
        host = url.raw_host.decode("ascii").lower().rstrip(".")
        if url.scheme != "https":
            where = f"{to.field}: {url.scheme}://{host}"
            message = f"{where}: the operator's {identity} goes over https only: write an https:// address"
            raise ConfigError(message, field=to.field)
        known = (*self.hosts, *(_OWN_HOSTS[to.service] if to.service else ()))
        if not to.by_installation and not any(_matches(host, pattern) for pattern in known):
            raise ConfigError(
                f'{to.field}: the operator\'s {identity} is not sent to host "{host}" because a tenant names it: '
                "give a credential of your own, name the address in a ClusterTriggerAuthentication where that can, "
                "or start the operator with the host in --operator-identity-hosts",
                field=to.field,
            )


def _matches(host: str, pattern: str) -> bool:
    """Match a host: "*.a.b" is every name below a.b, not a.b itself; a star further on is one label."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    labels, wanted = host.split("."), pattern.split(".")
    return len(labels) == len(wanted) and all(
        expected in ("*", label) for label, expected in zip(labels, wanted, strict=True)
    )


def _parse(identity: str, to: Destination) -> "httpx.URL":
    """Parse an address that every library reads alike, so that the checked host is the one that is contacted."""
    import httpx  # heavy, and few triggers have an identity of the operator's

    try:
        url = httpx.URL(to.url)
    except httpx.InvalidURL:
        url = httpx.URL("")
    # Libraries disagree on backslashes and "@" in an address: what is checked here must be where they all go.
    odd = set(url.raw_host.decode("ascii").lower()) - _IN_A_HOST or set("\\@") & set(to.url)
    if odd or not url.scheme or not url.host or not to.url.isprintable():
        message = f"{to.field}: is not a plain address, and the operator's {identity} is sent to no other"
        raise ConfigError(f"{message}: write https://HOST/PATH", field=to.field)
    return url
