"""Parsing of extension-apiserver-authentication, and of requests into RBAC attributes."""

import pytest

from keda_py.errors import ConfigError
from keda_py.serving.api_request import wanted_of
from keda_py.serving.caller import RequestAttributes
from keda_py.serving.client_trust import read_trust

ROOT = "/apis/external.metrics.k8s.io/v1beta1"
GROUP = {"group": "external.metrics.k8s.io", "version": "v1beta1"}


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/version", RequestAttributes(verb="get", path="/version")),
        ("GET", ROOT, RequestAttributes(verb="get", path=ROOT)),
        ("GET", f"{ROOT}/", RequestAttributes(verb="get", path=f"{ROOT}/")),
        ("GET", "/", RequestAttributes(verb="get", path="/")),
        (
            "GET",
            f"{ROOT}/namespaces/a/m",
            RequestAttributes(verb="list", path="*", namespace="a", resource="m", **GROUP),
        ),
        (
            "GET",
            f"{ROOT}/namespaces/a/m/n",
            RequestAttributes(verb="get", path="*", namespace="a", resource="m", name="n", **GROUP),
        ),
        (
            "POST",
            f"{ROOT}/namespaces/a/m",
            RequestAttributes(verb="create", path="*", namespace="a", resource="m", **GROUP),
        ),
        ("GET", f"{ROOT}/m", RequestAttributes(verb="list", path="*", resource="m", **GROUP)),
        (
            "GET",
            f"{ROOT}/namespaces/a%2Fb/m",
            RequestAttributes(verb="list", path="*", namespace="a/b", resource="m", **GROUP),
        ),
        (
            "DELETE",
            f"{ROOT}/namespaces/a/m",
            RequestAttributes(verb="deletecollection", path="*", namespace="a", resource="m", **GROUP),
        ),
    ],
)
def test_a_request_is_what_kubernetes_would_take_it_for(method, path, wanted):
    seen = wanted_of(method, path)
    names = ("verb", "group", "version", "namespace", "resource", "subresource", "name")
    assert [getattr(seen, name) for name in names] == [getattr(wanted, name) for name in names]
    if wanted.path != "*":
        assert seen.path == wanted.path


def test_the_config_maps_lists_are_json():
    spec = read_trust(
        {
            "requestheader-allowed-names": '["front-proxy-client","other"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
        "PEM",
    )
    assert spec.allowed_names == ("front-proxy-client", "other")
    assert (spec.headers.user, spec.headers.uid) == (("x-remote-user",), ("x-remote-uid",))
    assert (spec.headers.extra_prefixes, spec.authorities) == (("x-remote-extra-",), ("PEM",))


@pytest.mark.parametrize("text", ["front-proxy-client", "{}", "[1]", '"x"'])
def test_anything_else_is_refused_by_name(text):
    with pytest.raises(ConfigError, match="requestheader-allowed-names"):
        read_trust({"requestheader-allowed-names": text})
