"""An address that keeps its parts has those of httpx's, and stays equal to it."""

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keda_py.net.kept_address import KeptAddress, encoded, server_of
from tests.costs import thorough

ADDRESSES = (
    "http://127.0.0.1:9200/jobs/_search?q=a%20b",
    "https://ann:s3cret@[::1]:8443/",
    "http://shop.example:80",
    "http://müller.example/pa th",
    "/only/a/path",
)
TEXTS = st.text(max_size=5) | st.sampled_from(("sum(rate(x[2m]))", "%2F", "a+b &c", "ü", "#"))
PARAMETERS = st.dictionaries(TEXTS.filter(bool), TEXTS | st.lists(TEXTS, max_size=3), max_size=4)


@pytest.mark.parametrize("text", ADDRESSES)
def test_each_part_is_that_of_httpx_however_often_it_is_asked_for(text: str) -> None:
    kept, usual = KeptAddress(text), httpx.URL(text)
    for _ in range(2):
        assert (kept.netloc, kept.userinfo, kept.host, kept.port) == (
            usual.netloc,
            usual.userinfo,
            usual.host,
            usual.port,
        )
        assert (kept.is_absolute_url, server_of(kept), encoded(kept)) == (
            usual.is_absolute_url,
            server_of(usual),
            encoded(usual),
        )
    assert kept == usual


@thorough
@given(st.sampled_from((*ADDRESSES, "http://a/?", "http://a/?a=b&a=%2F#top")), PARAMETERS)
@example("http://a/", {"query": "a" * 20_000})
def test_with_parameters_it_is_the_address_that_httpx_makes(text: str, parameters: dict[str, str | list[str]]) -> None:
    kept, usual = KeptAddress(text).copy_merge_params(parameters), httpx.URL(text).copy_merge_params(parameters)
    assert (str(kept), encoded(kept), server_of(kept)) == (str(usual), encoded(usual), server_of(usual))
    assert (kept, kept.raw_path, kept.params) == (usual, usual.raw_path, usual.params)
    assert (kept.netloc, kept.userinfo, kept.host, kept.port) == (usual.netloc, usual.userinfo, usual.host, usual.port)
    assert kept.is_absolute_url == usual.is_absolute_url


def test_an_address_without_its_password_keeps_nothing_of_it() -> None:
    kept = KeptAddress("http://ann:s3cret@shop.example/")
    assert kept.userinfo == b"ann:s3cret"
    changed = kept.copy_with(userinfo=b"")
    assert changed.userinfo == b""
    assert "s3cret" not in f"{changed!r} {changed} {encoded(changed)} {vars(changed)}"


def test_an_address_does_not_show_its_password_in_error_texts() -> None:
    kept = KeptAddress("http://ann:s3cret@shop.example/")
    assert (server_of(kept), "s3cret" in repr(kept)) == ("shop.example", False)
