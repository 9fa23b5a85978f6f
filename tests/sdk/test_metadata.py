"""Trigger metadata: sources, types, errors (behaviour reference, section 18)."""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import Field, HttpUrl, SecretStr, model_validator

from keda_py.errors import ConfigError
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.metadata.marks import (
    AUTH,
    ENV,
    META,
    named,
    prefixed,
    ranges,
    removed,
    separated_by,
    sources,
    url_unescaped,
    variable,
)
from keda_py.sdk.metadata.model import TriggerMetadata
from tests.costs import within


class Typed(TriggerMetadata):
    flag: bool = False
    count: int = 0
    ratio: float = 0.0
    wait: timedelta = timedelta(seconds=3)
    names: list[str] = []
    labels: Annotated[list[str], separated_by(";")] = []
    partitions: Annotated[list[int], ranges()] = []
    headers: dict[str, str] = {}
    parameters: dict[str, list[str]] = {}
    path: Annotated[str, url_unescaped()] = ""
    mode: Literal["sum", "max"] = "sum"
    maybe: int | None = None
    url: HttpUrl | None = None


class Credentials(TriggerMetadata):
    queue_url: Annotated[str, named("queueURL")]
    server: Annotated[str, named("address", "addresses"), sources(META, AUTH, ENV)]
    token: Annotated[SecretStr, sources(AUTH, ENV)]
    length: Annotated[float, Field(gt=0)] = 5.0
    type: Annotated[str, removed("The 'type' setting is DEPRECATED.")] = ""


def parse(model: type[TriggerMetadata], metadata: dict[str, str], **sources: dict[str, str]) -> Any:
    return model.parse(metadata, as_secrets(sources.get("env", {})), as_secrets(sources.get("auth", {})))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("flag", "T", True),
        ("flag", "FALSE", False),
        ("count", " 7 ", 7),
        ("count", "-7", -7),
        ("count", "9223372036854775807", 2**63 - 1),
        ("ratio", "1e3", 1000.0),
        ("wait", "1m30s", timedelta(seconds=90)),
        ("wait", "250", timedelta(milliseconds=250)),
        ("wait", "0", timedelta(0)),
        ("names", "a, b ,c", ["a", "b", "c"]),
        ("labels", "a,b;c", ["a,b", "c"]),
        ("partitions", "1-3,5", [1, 2, 3, 5]),
        ("partitions", "4,3-1", [4]),
        ("headers", "a=b, c = d==", {"a": "b", "c": "d=="}),
        ("parameters", "a=1&a=2&b=%20", {"a": ["1", "2"], "b": [" "]}),
        ("path", "a%2Fb+c", "a/b c"),
        ("mode", "max", "max"),
        ("maybe", "3", 3),
        ("url", "http://acme/x", HttpUrl("http://acme/x")),
    ],
)
def test_a_value_is_read_as_its_type(key: str, text: str, value: object) -> None:
    assert getattr(parse(Typed, {key: text}), key) == value


@pytest.mark.parametrize(
    ("key", "text", "remedy"),
    [
        ("flag", "yes", "use true or false"),
        ("count", "5.0", "write digits only"),
        ("count", "1_000", "write digits only"),
        ("count", "+7", "write digits only"),
        ("count", "007", "write digits only"),
        ("ratio", ".5", "write digits with a decimal point"),
        ("ratio", "5.", "write digits with a decimal point"),
        ("count", "9223372036854775808", "fits in 64 bits"),
        ("count", "9" * 10_000, "fits in 64 bits"),
        ("ratio", "NaN", "write digits with a decimal point"),
        ("ratio", "1,5", "write digits with a decimal point"),
        ("ratio", "1e999", "fits in 64 bits"),
        ("wait", "5 minutes", "write it with its unit"),
        ("wait", "-1s", "is negative"),
        ("wait", "-5", "is negative"),
        ("partitions", "1--3", "write it as 1-3"),
        ("partitions", "-1", "write digits only"),
        ("partitions", "1-999999999", "more than 100000 numbers"),
        ("partitions", "a", "write digits only"),
        ("headers", "a", "write name=value pairs"),
        ("mode", "avg", "write one of sum, max"),
        ("url", "acme", "valid URL"),
    ],
)
def test_what_is_wrong_is_named_with_its_value_and_a_remedy(key: str, text: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        parse(Typed, {key: text})
    assert wrong.value.field == key
    assert str(wrong.value).startswith(f'{key}: "{text}"')
    assert remedy in str(wrong.value)


def test_as_many_numbers_as_are_allowed_are_read_at_once() -> None:
    with within(0.5):
        typed = parse(Typed, {"partitions": ",".join(map(str, range(100_000)))})
    assert len(typed.partitions) == 100_000


def test_empty_and_blank_values_are_absent() -> None:
    assert parse(Typed, {"count": "", "mode": "  ", "wait": "\t\n"}) == Typed()


GOOD = {"queueURL": "q", "address": "a", "tokenFromEnv": "TOKEN"}


def test_the_first_source_with_a_value_wins() -> None:
    everywhere = {"env": {"TOKEN": "from-env"}, "auth": {"token": "from-auth"}}
    assert parse(Credentials, GOOD, **everywhere).token.get_secret_value() == "from-auth"
    assert parse(Credentials, GOOD, env={"TOKEN": "from-env"}).token.get_secret_value() == "from-env"
    blank = parse(Credentials, GOOD, env={"TOKEN": "from-env"}, auth={"token": " "})
    assert blank.token.get_secret_value() == "from-env"


def test_a_source_outranks_the_order_of_a_keys_names() -> None:
    env = {"TOKEN": "t"}
    metadata = {"queueURL": "q", "addresses": "from-metadata", "tokenFromEnv": "TOKEN"}
    assert parse(Credentials, metadata, env=env, auth={"address": "from-auth"}).server == "from-metadata"


def test_a_secret_is_not_read_from_the_triggers_metadata() -> None:
    with pytest.raises(ConfigError, match="missing required parameter"):
        parse(Credentials, {"queueURL": "q", "address": "a", "token": "pasted"})


def test_every_wrong_key_is_named_in_one_error() -> None:
    with pytest.raises(ConfigError) as wrong:
        parse(Credentials, {"length": "0", "type": "x"})
    text = str(wrong.value)
    assert 'missing required parameter "queueURL" in [triggerMetadata]' in text
    assert 'missing required parameter "address" in [triggerMetadata authParams resolvedEnv]' in text
    assert 'missing required parameter "token" in [authParams resolvedEnv]' in text
    assert "tokenFromEnv in the trigger's metadata" in text
    assert 'length: "0": input should be greater than 0' in text
    assert "The 'type' setting is DEPRECATED." in text
    assert wrong.value.field == "queueURL"


def test_a_removed_key_names_the_trigger_type_as_keda_does() -> None:
    with pytest.raises(ConfigError, match=r"^scaler acme info: The 'type' setting is DEPRECATED.$"):
        Credentials.parse({**GOOD, "type": "x"}, as_secrets({"TOKEN": "t"}), {}, trigger_type="acme")


def test_no_error_and_no_representation_tells_what_came_from_elsewhere() -> None:
    class Hidden(TriggerMetadata):
        token: Annotated[SecretStr, sources(META, AUTH)]
        port: Annotated[int, sources(AUTH, ENV)]
        mode: Annotated[Literal["a", "b"], sources(AUTH)] = "a"
        length: Annotated[float, sources(ENV), Field(gt=0)] = 5.0

        @model_validator(mode="after")
        def _never(self) -> Self:
            raise ValueError("token: is never right")

    secrets = {"token": "s3cret-1", "port": "s3cret-2", "mode": "s3cret-3"}
    with pytest.raises(ConfigError) as wrong:
        parse(Hidden, {"lengthFromEnv": "L"}, env={"L": "-1.2345"}, auth=secrets)
    assert "port: the value (not shown) is not a whole number" in str(wrong.value)
    assert "s3cret" not in repr(wrong.value) + repr(wrong.value.__cause__)
    assert "1.2345" not in str(wrong.value)
    with pytest.raises(ConfigError, match=r"^token: is never right$"):
        parse(Hidden, {"token": "s3cret-1"}, auth={"port": "1"})
    assert "s3cret" not in repr(parse(Credentials, GOOD, env={"TOKEN": "s3cret"}))


def test_unknown_keys_are_listed_for_a_warning() -> None:
    metadata = {**GOOD, "queueUrl": "x", "token": "x", "lengthFromEnv": "x", "addresses": "x"}
    assert Credentials.unknown_keys(metadata) == ("lengthFromEnv", "queueUrl", "token")


class Rows(TriggerMetadata):
    query: str = ""
    rows: Annotated[dict[str, str], prefixed("query.")] = {}


def test_keys_that_begin_alike_are_one_mapping() -> None:
    metadata = {"query": "x", "query.A": " a ", "query.B": "", "queries": "y"}
    assert parse(Rows, metadata).rows == {"A": " a ", "B": ""}
    assert parse(Rows, {}).rows == {}
    assert Rows.unknown_keys(metadata) == ("queries",)
    assert [key.name for key in Rows.declared_keys()] == ["query", "query.*"]


class InAFile(TriggerMetadata):
    file: Annotated[SecretStr, sources(ENV), variable("keyFromEnvFile")]


def test_another_key_may_name_the_variable() -> None:
    assert parse(InAFile, {"keyFromEnvFile": "KEY"}, env={"KEY": "/key"}).file.get_secret_value() == "/key"
    assert InAFile.unknown_keys({"keyFromEnvFile": "KEY", "fileFromEnv": "KEY"}) == ("fileFromEnv",)
    assert InAFile.certain_problems({"keyFromEnvFile": "KEY"}) == {}
    with pytest.raises(ConfigError, match="set keyFromEnvFile in the trigger's metadata"):
        parse(InAFile, {})


def test_a_model_lists_its_keys() -> None:
    url, server, token, length, type_ = Credentials.declared_keys()
    assert (url.name, url.required, url.type) == ("queueURL", True, "string")
    assert (server.names, server.order) == (("address", "addresses"), (META, AUTH, ENV))
    assert (token.secret, token.type) == (True, "secret")
    assert (length.default, length.type, length.required) == (5.0, "float", False)
    assert type_.removed


def test_a_trigger_shows_neither_the_environment_nor_the_parameters_that_it_was_resolved_with() -> None:
    env, auth = as_secrets({"PASSWORD": "s3cret"}), as_secrets({"key": "h1dden"})
    shown = repr(Trigger(type="redis", metadata={"listName": "jobs"}, env=env, auth=auth))
    assert "jobs" in shown
    assert not any(secret in shown for secret in ("s3cret", "h1dden"))
