"""A trigger's secret appears nowhere between where it was read and where it is used."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import pytest

import keda_py
from keda_py.auth.resolver import Resolved
from keda_py.errors import ConfigError
from keda_py.logs import JsonFormatter
from keda_py.net.credential_keys import credential_digest
from keda_py.net.secret_texts import as_secrets, plain
from keda_py.sdk import registry
from keda_py.sdk.advanced import META, Trigger
from keda_py.sdk.scaler import AUTH, ENV, TriggerMetadata
from keda_py.testing import EngineContext, shared_context

MARK = "m4rked"
FORMS = ("{}", "{}:80", "https://me:{}@host/{}", "-1{}", "1,{}", '{{"{}": 1}}', "{}=1;{}", "0.5 {}")
OURS = Path(keda_py.__file__).parent


def private_keys() -> Iterator[tuple[str, str, str]]:
    """Return every key of every trigger type that a TriggerAuthentication or an environment may give."""
    for trigger_type in registry.trigger_types():
        for key in registry.scaler_class(trigger_type).metadata_model.declared_keys():
            for source in key.order:
                if source != META:
                    yield trigger_type, key.name, source


def shown_by(error: BaseException) -> str:
    """Return an error's text, with what a traceback with locals shows of our frames."""
    shown, trace = [str(error), repr(error)], error.__traceback__
    while isinstance(trace, TracebackType):
        if Path(trace.tb_frame.f_code.co_filename).is_relative_to(OURS):
            shown += [repr(value) for value in trace.tb_frame.f_locals.values()]
        trace = trace.tb_next
    for further in (error.__cause__, error.__context__):
        shown += [shown_by(further)] if further is not None else []
    return " ".join(shown)


def given(trigger_type: str, key: str, source: str, text: str) -> Trigger:
    metadata = {f"{key}FromEnv": "SECRET"} if source == ENV else {}
    env = as_secrets({"SECRET": text} if source == ENV else {})
    return Trigger(
        type=trigger_type, metadata=metadata, env=env, auth=as_secrets({key: text} if source == AUTH else {})
    )


@pytest.mark.parametrize("form", FORMS)
async def test_no_value_between_shows_what_an_environment_or_an_authentication_gave(form: str) -> None:
    text, shown, raised = form.replace("{}", MARK), dict[str, str](), 0
    async with shared_context() as lent:
        for trigger_type, key, source in private_keys():
            trigger = given(trigger_type, key, source, text)
            seen = [repr(trigger), repr(Resolved(env=trigger.env, auth=trigger.auth))]
            context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
            try:
                scaler = registry.build(trigger, context)
                seen += [repr(scaler), repr(scaler.metadata), str(scaler.metadata), repr(context)]
            except ConfigError as error:
                seen.append(shown_by(error))
                raised += 1
            if any(MARK in one for one in seen):
                shown[f"{trigger_type} {key} {source}"] = next(one for one in seen if MARK in one)
            await context.aclose()
    assert raised > 50
    assert shown == {}


class Login(TriggerMetadata):
    user: str = ""


def test_a_field_that_is_no_secret_by_its_type_is_shown_only_where_the_trigger_itself_says_it() -> None:
    assert "jane" in repr(Login.parse({"user": "jane"}, {}, {}))


@pytest.mark.parametrize("wrap", [as_secrets, lambda texts: Resolved(auth=as_secrets(texts))])
def test_a_log_record_shows_none(wrap: Callable[[dict[str, str]], object]) -> None:
    record = logging.LogRecord("keda_py", logging.INFO, "", 0, "resolved", (), None)
    record.resolved = wrap({"password": MARK})
    assert MARK not in JsonFormatter(str).format(record)


def test_equal_texts_have_equal_digests_wrapped_or_not_so_that_caches_go_on_working() -> None:
    secret = as_secrets({"password": MARK})["password"]
    assert secret == as_secrets({"password": MARK})["password"]
    assert credential_digest(secret) == credential_digest(MARK) != credential_digest(f"{MARK}2")
    assert plain({"password": secret, "user": "me"}) == {"password": MARK, "user": "me"}
