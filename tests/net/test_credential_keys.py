"""Cache keys for what credentials obtain."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from keda_py.errors import ConfigError
from keda_py.net.credential_keys import CredentialKey, OpenKey, check_sharing_key, credential_digest, sharing_key

_PLAIN = st.one_of(st.text(), st.integers(), st.booleans(), st.none())
CREDENTIALS = st.recursive(_PLAIN, lambda one: st.lists(one, max_size=3).map(tuple), max_leaves=6)


def typed(part: object) -> object:
    """Pair values with their types, since 1, True and 1.0 are equal in Python."""
    return tuple(typed(one) for one in part) if isinstance(part, tuple) else (type(part), part)


@given(one=st.lists(CREDENTIALS, max_size=3).map(tuple), other=st.lists(CREDENTIALS, max_size=3).map(tuple))
def test_digests_are_equal_for_equal_credentials_only(one: tuple, other: tuple) -> None:
    assert (credential_digest(*one) == credential_digest(*other)) is (typed(one) == typed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("", "a")),
        (("a",), (("a",),)),
        (("1:sa",), ("", "sa")),
        ((1,), ("1",)),
        ((1,), (True,)),
        ((None,), ("",)),
        ((SecretStr("a"),), (SecretStr("b"),)),
    ],
)
def test_parts_of_a_credential_cannot_be_shifted(one: tuple, other: tuple) -> None:
    assert credential_digest(*one) != credential_digest(*other)


def test_a_key_tells_tenants_credentials_and_things_apart() -> None:
    mine = sharing_key("shop", ("redis", "host"), "me", SecretStr("s3cret"))
    assert mine == sharing_key("shop", ("redis", "host"), "me", SecretStr("s3cret"))
    for other in (
        sharing_key("bank", ("redis", "host"), "me", SecretStr("s3cret")),
        sharing_key("shop", ("redis", "host"), "me", SecretStr("rubbish")),
        sharing_key("shop", ("redis", "host"), "me", SecretStr("")),
        sharing_key("shop", ("redis", "other"), "me", SecretStr("s3cret")),
        sharing_key("shop", ("redis", "host")),
    ):
        assert mine != other


def test_what_needs_no_credential_is_shared_by_all_tenants() -> None:
    keys = {sharing_key(tenant, ("redis", "host"), SecretStr(""), "", (None, "")) for tenant in ("shop", "bank")}
    assert keys == {OpenKey(what=("redis", "host"))}


def test_no_key_and_no_text_of_one_holds_a_secret() -> None:
    key = sharing_key("shop", ("redis", "host"), SecretStr("s3cret"), "pa55")
    assert isinstance(key, CredentialKey)
    assert repr(key) == "CredentialKey(tenant='shop', what=('redis', 'host'))"
    for secret in (b"s3cret", b"pa55"):
        assert secret not in key.credential.value
        assert secret not in repr((key.credential, vars(type(key)))).encode()


def test_another_process_makes_other_digests() -> None:
    code = "from keda_py.net.credential_keys import credential_digest as d; print(d('a').value.hex())"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert len(printed.strip()) == 64
    assert printed.strip() != credential_digest("a").value.hex()


@pytest.mark.parametrize("key", [("redis", "host"), "redis", 1])
def test_a_key_of_another_type_is_refused_with_the_remedy(key: object) -> None:
    with pytest.raises(ConfigError, match=r"batch_key is a \w+: make it with keda_py.sdk.advanced.sharing_key"):
        check_sharing_key(key, "batch_key")


def test_a_credential_key_cannot_be_made_without_tenant_and_credential() -> None:
    for lacking in ({"tenant": "shop"}, {"credential": credential_digest("a")}):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
            CredentialKey(what=("x",), **lacking)  # type: ignore[call-arg, arg-type]
