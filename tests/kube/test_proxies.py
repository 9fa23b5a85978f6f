"""NO_PROXY as Go reads it: the cases are those of golang.org/x/net/http/httpproxy's documentation."""

import pytest
from yarl import URL

from keda_py.kube.proxies import bypasses_proxy, proxy_for


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("10.96.0.1", "10.0.0.0/8", True),
        ("11.96.0.1", "10.0.0.0/8", False),
        ("kubernetes.default.svc", "10.0.0.0/8,.svc", True),
        ("[fd00::1]", "fd00::/8", True),
        ("[fd00::1]", "fd00::1", True),
        ("10.96.0.1", "10.96.0.1", True),
        ("10.96.0.1", "10.96.0.10", False),
        ("example.com", "example.com", True),
        ("www.example.com", "example.com", True),
        ("notexample.com", "example.com", False),
        ("example.com", ".example.com", False),
        ("www.example.com", ".example.com", True),
        ("www.example.com", "*.example.com", True),
        ("WWW.Example.com.", " example.COM ", True),
        ("example.com", "other.com, *", True),
        ("example.com", "example.com:443", True),
        ("example.com", "example.com:8443", False),
        ("example.com", "10.0.0.0/99,,", False),
        ("localhost", "", True),
        ("127.0.0.1", "", True),
        ("[::1]", "", True),
        ("example.com", "", False),
    ],
)
def test_a_host_is_reached_directly_when_no_proxy_covers_it(host: str, no_proxy: str, direct: bool) -> None:
    assert bypasses_proxy(URL(f"https://{host}/api"), no_proxy) is direct


def test_the_scheme_chooses_the_proxy_and_lower_case_is_understood() -> None:
    environ = {"HTTPS_PROXY": "http://secure:3128", "http_proxy": "plain:3128"}
    assert proxy_for(URL("https://example.com"), environ) == "http://secure:3128"
    assert proxy_for(URL("http://example.com"), environ) == "http://plain:3128"
    assert proxy_for(URL("https://example.com"), environ | {"no_proxy": "example.com"}) is None
    assert proxy_for(URL("https://example.com"), {}) is None
