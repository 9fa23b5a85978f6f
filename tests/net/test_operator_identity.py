"""Addresses that may receive the operator's own identity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import ConfigError
from keda_py.net.operator_identity import Destination, IdentityRule, Service

LISTED = IdentityRule(hosts=("vault.example.org", "*.vaults.svc", "127.0.0.1", "::1"))


def to(url: str, service: Service | None = None, *, by_installation: bool = False) -> Destination:
    return Destination(url=url, field="spec.address", service=service, by_installation=by_installation)


@pytest.mark.parametrize(
    "url",
    [
        "https://vault.example.org",
        "https://VAULT.example.org.:8200/v1",
        "https://a.vaults.svc",
        "https://a.b.vaults.svc:8200",
        "https://127.0.0.1:8200",
        "https://[::1]:8200",
    ],
)
def test_hosts_that_the_installation_lists(url: str) -> None:
    LISTED.check("VAULT_TOKEN", to(url))
    with pytest.raises(ConfigError):
        IdentityRule().check("VAULT_TOKEN", to(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.org",
        "https://vaults.svc",
        "https://evilvaults.svc",
        "https://vault.example.org.evil.org",
        "https://xvault.example.org",
        "https://127.0.0.11",
        "https://evil.org/vault.example.org",
        "https://evil.org?vault.example.org",
        "https://evil.org#vault.example.org",
    ],
)
def test_other_hosts_are_refused_with_field_host_and_remedy(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        LISTED.check("VAULT_TOKEN", to(url))
    host = url.removeprefix("https://").split("/")[0].split("?")[0].split("#")[0]
    text = str(refused.value)
    assert refused.value.field == "spec.address"
    assert text.startswith(f'spec.address: the operator\'s VAULT_TOKEN is not sent to host "{host}"')
    for remedy in ("credential of your own", "ClusterTriggerAuthentication", "--operator-identity-hosts"):
        assert remedy in text


@pytest.mark.parametrize(
    "url",
    [
        "https://me:s3cret@vault.example.org",
        "https://vault.example.org@evil.org",
        "https://evil.org\\@vault.example.org",
        "https://evil.org\n.vault.example.org",
        "https://evil.org\t.vaults.svc",
        "vault.example.org",
        "//vault.example.org",
        "https://",
        "https:///vault.example.org",
        "https:vault.example.org",
        "https://[vault.example.org",
        "",
    ],
)
def test_an_address_that_may_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="spec.address: is not a plain address") as refused:
        LISTED.check("VAULT_TOKEN", to(url, by_installation=True))
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("by_installation", [True, False])
def test_nothing_goes_over_http(*, by_installation: bool) -> None:
    with pytest.raises(ConfigError, match=r"http://127.0.0.1: the operator's VAULT_TOKEN goes over https only"):
        LISTED.check("VAULT_TOKEN", to("http://127.0.0.1:8200/v1", by_installation=by_installation))
    IdentityRule(anywhere=True).check("VAULT_TOKEN", to("http://127.0.0.1:8200/v1"))


def test_what_the_installation_has_written_is_fine() -> None:
    IdentityRule().check("VAULT_TOKEN", to("https://anywhere.example.org", by_installation=True))


@pytest.mark.parametrize(
    ("service", "url"),
    [
        ("azure login", "https://login.microsoftonline.com/"),
        ("azure login", "https://login.microsoftonline.us"),
        ("azure key vault", "https://team.vault.azure.net"),
        ("azure prometheus", "https://team-x1.eastus.prometheus.monitor.azure.com"),
        ("azure storage", "https://shop.queue.core.windows.net"),
        ("azure storage", "https://shop.blob.core.usgovcloudapi.net"),
        ("azure event hubs", "https://shop.servicebus.windows.net"),
        ("azure monitor", "https://management.azure.com"),
        ("azure data explorer", "https://shop.westeurope.kusto.windows.net"),
        ("azure devops", "https://dev.azure.com/shop"),
        ("amazon prometheus", "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1"),
        ("amazon prometheus", "https://aps-workspaces.cn-north-1.amazonaws.com.cn/workspaces/ws-1"),
        ("google", "https://monitoring.googleapis.com/v1/projects/x/location/global/prometheus"),
    ],
)
def test_the_clouds_own_hosts_are_fine_for_their_own_identity(service: Service, url: str) -> None:
    IdentityRule().check("token", to(url, service))
    with pytest.raises(ConfigError):
        IdentityRule().check("token", to(url))


@pytest.mark.parametrize(
    ("service", "host"),
    [
        ("azure login", "evil.login.microsoftonline.com"),
        ("azure login", "team.vault.azure.net"),
        ("azure key vault", "vault.azure.net.evil.org"),
        ("azure prometheus", "evil.azurewebsites.net"),
        ("azure storage", "evil.z6.web.core.windows.net"),
        ("azure storage", "shop.queue.core.windows.net.evil.org"),
        ("azure event hubs", "evil.azurewebsites.net"),
        ("azure monitor", "evil.management.azure.com"),
        ("azure data explorer", "evil.azurewebsites.net"),
        ("azure devops", "evil-3000.app.online.visualstudio.com"),
        ("amazon prometheus", "evil-1234.eu-west-1.elb.amazonaws.com"),
        ("amazon prometheus", "aps-workspaces.evil.eu-west-1.amazonaws.com"),
        ("amazon prometheus", "ec2-1-2-3-4.compute-1.amazonaws.com"),
        ("google", "evil.appspot.com"),
        ("google", "googleapis.com.evil.org"),
    ],
)
def test_hosts_of_other_services_are_not_the_clouds_own(service: Service, host: str) -> None:
    with pytest.raises(ConfigError, match="is not sent to host"):
        IdentityRule().check("token", to(f"https://{host}", service))


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_allowed_or_refused_and_nothing_else(before: str, after: str) -> None:
    for url in (before, f"https://{before}", f"https://{before}vault.example.org{after}"):
        try:
            LISTED.check("VAULT_TOKEN", to(url))
        except ConfigError as error:
            assert error.field == "spec.address"  # noqa: PT017 - both outcomes are fine
