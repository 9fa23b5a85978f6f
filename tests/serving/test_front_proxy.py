"""X-Remote-* headers in every spelling, and repeated."""

import pytest
from multidict import CIMultiDict

from keda_py.serving.caller import AUTHENTICATED, UNAUTHENTICATED, Caller
from keda_py.serving.front_proxy import REMEMBERED, FrontProxy, RequestHeaders

NAMES = RequestHeaders(
    user=("x-remote-user", "x-old-user"),
    uid=("x-remote-uid",),
    group=("x-remote-group",),
    extra_prefixes=("x-remote-extra-",),
)
JANE = Caller(name="jane", groups=(AUTHENTICATED,))


def caller(*headers: tuple[str, str]) -> Caller | None:
    return FrontProxy(NAMES).caller(CIMultiDict(headers))


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Remote-User", "jane")],
        [("x-REMOTE-user", "jane")],
        [("X-Remote-User", "jane"), ("X-Remote-User", "admin")],
        [("x-remote-user", "jane"), ("X-Remote-User", "admin"), ("X-Old-User", "admin")],
        [("X-Old-User", "admin"), ("X-Remote-User", "jane")],
        [("X-Old-User", "jane")],
        [("X-Remote-User", "jane"), ("X_Remote_Group", "system:masters"), ("X-Remote-Groups", "system:masters")],
        [("X-Remote-User", "jane"), ("X-Remote-Group", ""), ("X-Remote-Uid", "")],
    ],
)
def test_the_first_user_header_counts_and_lookalikes_do_not(headers):
    assert caller(*headers) == JANE


@pytest.mark.parametrize(
    "headers", [[], [("X-Remote-User", "")], [("X-Remote-User", ""), ("X-Remote-User", "a")], [("X-Remote-Group", "a")]]
)
def test_without_a_name_first_nobody_is_named(headers):
    assert caller(*headers) is None


def test_every_group_header_counts_once_each_in_its_order():
    found = caller(("X-Remote-Group", "b"), ("X-Remote-User", "jane"), ("x-remote-group", "a"))
    assert found.groups == ("b", "a", AUTHENTICATED)


def test_somebody_anonymous_does_not_become_authenticated():
    assert caller(("X-Remote-User", "system:anonymous")).groups == ()
    assert caller(("X-Remote-User", "x"), ("X-Remote-Group", UNAUTHENTICATED)).groups == (UNAUTHENTICATED,)


def test_extra_keys_are_unescaped_and_their_values_kept_together():
    found = caller(
        ("X-Remote-User", "jane"),
        ("X-Remote-Extra-Example.org%2FScope", "a"),
        ("X-Remote-Extra-Acme", "z"),
        ("x-remote-extra-example.org%2fscope", "b"),
    )
    assert found.extra == (("acme", ("z",)), ("example.org/scope", ("a", "b")))


def test_with_no_names_configured_no_header_means_anything():
    nobody = FrontProxy(RequestHeaders())
    assert nobody.caller(CIMultiDict({"X-Remote-User": "admin", "X-Remote-Group": "system:masters"})) is None


def test_no_more_callers_are_remembered_than_said():
    proxy = FrontProxy(NAMES)
    for number in range(3 * REMEMBERED):
        assert (
            proxy.caller(CIMultiDict({"X-Remote-User": f"user{number}", "X-Other": str(number)})).name
            == f"user{number}"
        )
    assert proxy._read.cache_info().currsize == REMEMBERED
    before = proxy._read.cache_info().misses
    proxy.caller(CIMultiDict({"X-Remote-User": f"user{3 * REMEMBERED - 1}", "X-Other": "anything else"}))
    assert proxy._read.cache_info().misses == before
