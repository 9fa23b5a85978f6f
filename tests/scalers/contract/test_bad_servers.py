"""Every type and a server that keeps to no protocol: an error in time that names it and the cause, and nothing left."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from keda_py.sdk.registry import trigger_types
from tests.scalers.contract.bad_servers import (
    ANYWHERE,
    BadServer,
    Behaviour,
    bad_server,
    begin_to_greet,
    close_at_once,
    closed_port,
    never_accepting,
    say_garbage,
    say_garbage_for_ever,
    say_nothing,
    say_zeros,
    speak_plain_text,
)
from tests.scalers.contract.polls import STEP, Address, PollResult, lending, poll
from tests.scalers.contract.samples import SECRETS, WITHOUT_SERVER, Sample, samples
from tests.scalers.recorded.stage import Papers, proxy
from tests.sweeps import swept
from tests.waiting import eventually

TIMEOUT = 0.3
MARGIN = 0.1
"""Seconds of the loop's time beyond which an error is late."""
CLOSED_WITHIN = 30.0
"""Seconds for what is closed to be gone: gRPC gives up an attempt to connect after as long as a question may take."""
SAMPLES = samples()
REFUSED, HANGING = "port closed", ("never accepts", "never answers", "TLS asked, nothing comes")
NO_ANSWER = ("no answer", "no complete answer", "in time", "timed out", "timeout", "cannot be reached in")
OF_EACH_PROTOCOL = (
    *("prometheus", "gcp-pubsub", "aws-sqs-queue", "azure-blob", "azure-eventhub", "redis", "redis-cluster", "kafka"),
    *("postgresql", "mysql", "mssql", "mongodb", "cassandra", "clickhouse"),
    *("rabbitmq by AMQP", "beanstalkd", "etcd", "external"),
)
"""One sample of each client library, or of its own way to ask by HTTP."""
READINGS: Mapping[tuple[str, str], str] = {}
"""(sample, case) -> why it is a value."""

Open = Callable[[Sample, Papers, tuple[str, int]], AbstractAsyncContextManager[BadServer]]


@dataclass(frozen=True, slots=True)
class Case:
    """`asks_tls`: the trigger does. `plain_only`: not for types that always speak TLS."""

    open: Open
    asks_tls: bool = False
    plain_only: bool = False

    def fits(self, sample: Sample) -> bool:
        if self.asks_tls:
            return sample.tls is not None or sample.is_secured
        return not (self.plain_only and sample.is_secured)


def _behaving(behave: Behaviour, tls: str = "as asked") -> Open:
    def opened(sample: Sample, papers: Papers, at: tuple[str, int]) -> AbstractAsyncContextManager[BadServer]:
        context = None
        if tls == "always" or (tls == "as asked" and sample.is_secured):
            context = papers.any_host if sample.proxied else papers.of_host(at[0])
        return bad_server(behave, sample.greeting, context, at=at)

    return opened


CASES: Mapping[str, Case] = {
    "port closed": Case(lambda _, __, at: closed_port(at)),
    "never accepts": Case(lambda _, __, at: never_accepting(at)),
    "never answers": Case(_behaving(say_nothing)),
    "TLS asked, nothing comes": Case(_behaving(say_nothing, "never"), asks_tls=True),
    "TLS asked, plain text comes": Case(_behaving(speak_plain_text, "never"), asks_tls=True),
    "plain asked, TLS comes": Case(_behaving(say_nothing, "always"), plain_only=True),
    "closes at once": Case(_behaving(close_at_once)),
    "garbage": Case(_behaving(say_garbage)),
    "garbage for ever": Case(_behaving(say_garbage_for_ever)),
    "zeros": Case(_behaving(say_zeros)),
    "cut in the greeting": Case(_behaving(begin_to_greet)),
}


def test_every_type_has_a_sample_or_a_reason() -> None:
    known = {one.type for one in SAMPLES.values()}
    assert known | WITHOUT_SERVER.keys() == set(trigger_types())
    assert not known & WITHOUT_SERVER.keys()


@pytest.mark.parametrize("name", swept(SAMPLES, OF_EACH_PROTOCOL))
async def test_a_server_that_keeps_to_no_protocol_is_an_error_that_leaves_nothing(
    name: str, papers: Papers, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    sample, before = SAMPLES[name], asyncio.all_tasks()
    cases = {called: case for called, case in CASES.items() if case.fits(sample)}
    request.addfinalizer(gc.collect)  # what is left open is told of with its own test
    request.addfinalizer(gc.enable)
    gc.disable()  # it would close what is only forgotten
    if sample.proxied:  # some libraries take the proxy from the environment, which is one
        found = [await _problems(called, sample, papers, monkeypatch) for called in cases]
    else:
        found = await asyncio.gather(*(_problems(called, sample, papers, monkeypatch) for called in cases))
    assert {called: problems for called, problems in zip(cases, found, strict=True) if problems} == {}
    await eventually(lambda: asyncio.all_tasks() <= before, CLOSED_WITHIN)


async def _problems(called: str, sample: Sample, papers: Papers, environment: pytest.MonkeyPatch) -> list[str]:
    async with _lead_to(called, sample, papers) as (server, address):
        if address.proxy:
            environment.setenv("HTTPS_PROXY", address.proxy)
        asking = sample.over_tls() if CASES[called].asks_tls and sample.tls else sample
        async with lending(papers, TIMEOUT, address.proxy) as lent:
            outcome = await poll(asking, address, lent, papers)
            try:
                await eventually(lambda: not server.open_now and not lent.connections.held, CLOSED_WITHIN)
            except AssertionError:
                left = f"{len(server.open_now)} connections and {lent.connections.held} places"
                return [f"{left} are left: {outcome.error}"]
    return _wrong(outcome, called, sample, address)


def _wrong(outcome: PollResult, called: str, sample: Sample, address: Address) -> list[str]:
    text = outcome.error
    shown = sample.shown.replace("{{IP}}", address.ip) or f":{address.port}"
    wrong = {
        "a reading": not text and (sample.name, called) not in READINGS,
        "late": outcome.seconds > outcome.limit + MARGIN,
        "the engine had to end it": STEP in text,
        "places are held": outcome.held > 0,
        "a secret": any(secret in text for secret in SECRETS),
        "no server is named": shown not in text,
        "no cause": len(text) < len(shown) + 20,
        "not that it was refused": called == REFUSED and "refused" not in text.lower(),
        "not that it did not answer": called in HANGING and not any(words in text.lower() for words in NO_ANSWER),
    }
    return [f"{what}: {outcome.seconds:.2f} of {outcome.limit:.2f} s: {text}" for what in wrong if wrong[what]]


@asynccontextmanager
async def _lead_to(called: str, sample: Sample, papers: Papers) -> AsyncIterator[tuple[BadServer, Address]]:
    """A server, and how a trigger comes there: a host that cannot be chosen by a proxy, a port by an own address."""
    number = list(CASES).index(called) + 1
    at = (f"127.76.{os.getpid() % 250}.{number}", sample.port) if sample.port else ANYWHERE
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(CASES[called].open(sample, papers, at))
        lead = ""
        if sample.proxied:
            closed = called == "port closed"
            port = server.port if closed else await stack.enter_async_context(proxy(server.port, server.port))
            lead = f"http://127.0.0.1:{port}"
        yield server, Address(ip=at[0], port=server.port, proxy=lead)
