"""HTTP_PROXY, HTTPS_PROXY and NO_PROXY, as Go reads them."""

import pytest
from yarl import URL

from keda_py.errors import ConfigError
from keda_py.net.http import Proxies


def proxy_for(url: str, **environment: str) -> str | None:
    found = Proxies.from_environment(environment).for_url(URL(url))
    return None if found is None else str(found)


def test_without_variables_everything_is_direct() -> None:
    assert proxy_for("http://a.example/") is None


def test_the_scheme_of_the_address_chooses_the_proxy() -> None:
    both = {"HTTP_PROXY": "http://one:8080", "HTTPS_PROXY": "two:8443"}
    assert proxy_for("http://a.example/", **both) == "http://one:8080"
    assert proxy_for("https://a.example/", **both) == "http://two:8443"


def test_upper_case_wins_over_lower_case() -> None:
    assert proxy_for("http://a.example/", http_proxy="low:1", HTTP_PROXY="high:1") == "http://high:1"
    assert proxy_for("http://a.example/", http_proxy="low:1") == "http://low:1"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_this_machine_is_never_proxied(host: str) -> None:
    assert proxy_for(f"http://{host}:9090/", HTTP_PROXY="p:1") is None


@pytest.mark.parametrize(
    ("exceptions", "direct", "proxied"),
    [
        ("*", ["http://a.example"], []),
        ("example.com", ["http://example.com", "http://a.example.com"], ["http://badexample.com"]),
        (".example.com", ["http://a.example.com"], ["http://example.com"]),
        ("*.example.com", ["http://a.example.com"], ["http://example.com"]),
        ("10.0.0.0/8", ["http://10.1.2.3:9090"], ["http://11.1.2.3", "http://ten.example"]),
        ("10.1.2.3", ["http://10.1.2.3"], ["http://10.1.2.4"]),
        ("fd00::/8", ["http://[fd00::1]"], ["http://[fe00::1]"]),
        ("fd00::1", ["http://[fd00::1]"], ["http://[fd00::2]"]),
        ("[fd00::1]:81", ["http://[fd00::1]:81"], ["http://[fd00::1]:82"]),
        ("a.example:8080", ["http://a.example:8080"], ["http://a.example:80"]),
        (" .svc , .cluster.local ", ["http://x.ns.svc", "http://X.ns.svc.Cluster.Local."], ["http://x.ns"]),
    ],
)
def test_no_proxy(exceptions: str, direct: list[str], proxied: list[str]) -> None:
    environment = {"HTTP_PROXY": "p:1", "NO_PROXY": exceptions}
    assert [url for url in direct if proxy_for(url, **environment)] == []
    assert [url for url in proxied if not proxy_for(url, **environment)] == []


def test_a_proxy_that_is_no_http_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as refused:
        Proxies.from_environment({"HTTPS_PROXY": "socks5://user:s3cret@p:1"})
    assert "s3cret" not in str(refused.value)
