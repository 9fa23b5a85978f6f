"""One poll of a sample: built, opened, asked for each metric and closed as the engine does, and what came of it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from yarl import URL

from keda_py.answers.work_context import working
from keda_py.clock import SystemClock
from keda_py.core.metric_specs import ExternalMetric
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.net.proxies import Proxies
from keda_py.readings.guard import guard
from keda_py.readings.scaler_set import GRACE_SECONDS
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import IdentityRule, shared_context
from tests.scalers.contract.samples import Sample
from tests.scalers.recorded.stage import Papers
from tests.scalers.triggers import trigger_of

STEP = "the engine's own limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """`error` "": there was a reading. `seconds` of the longest step, and how long it may have been by itself.

    `held`: places of the namespace's share when the error was told, before anything was closed.
    """

    error: str = ""
    seconds: float = 0.0
    limit: float = 0.0
    held: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address that a trigger names."""

    ip: str
    port: int
    proxy: str = ""


@asynccontextmanager
async def lending(papers: Papers, timeout: float, proxy: str = "") -> AsyncIterator[SharedContext]:
    """A shared context on real time."""
    proxies = Proxies(http=URL(proxy), https=URL(proxy)) if proxy else Proxies()
    spec = HttpClientSpec(timeout=timeout, proxies=proxies)
    rule = IdentityRule(anywhere=True)
    async with shared_context(clock=SystemClock(), http=spec, identities=rule, tls=papers.tls) as lent:
        yield lent


async def poll(sample: Sample, address: Address, lent: SharedContext, papers: Papers) -> PollResult:
    """Leaves nothing open. Raises what is neither a ConfigError nor a ScalerError."""
    filled = {
        "{{IP}}": address.ip,
        "{{PORT}}": str(address.port),
        "{{HOST}}": f"{address.ip}:{address.port}",
        "{{LOCALHOST}}": f"localhost:{address.port}",
        "{{URL}}": f"http://{address.ip}:{address.port}",
        "{{CA}}": papers.ca,
        "{{CERT}}": papers.client.cert,
        "{{KEY}}": papers.client.key,
        "{{GCPKEY}}": papers.gcp_key,
    }
    trigger = trigger_of(sample.type, _filled(sample.metadata, filled), auth=_filled(sample.auth, filled))
    context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(context.aclose)
        began, limit = loop.time(), context.http_timeout
        error, held = "", 0
        with working(context.namespace):
            try:
                scaler = build(trigger, context)
                stack.push_async_callback(scaler.aclose)
                await guard(scaler.open(), limit + GRACE_SECONDS, what=STEP)
                specs = await guard(scaler.specs(), limit + GRACE_SECONDS, what=STEP)
                began, limit = loop.time(), scaler.timeout
                await _read(scaler, specs)
            except (ConfigError, ScalerError) as failed:
                error, held = str(failed), lent.connections.held
        return PollResult(error=error, seconds=loop.time() - began, limit=limit, held=held)


async def _read(scaler: AnyScaler, specs: object) -> None:
    assert isinstance(specs, tuple)
    for spec in specs:
        assert isinstance(spec, ExternalMetric)
        await guard(scaler.read_metric(spec), scaler.timeout + GRACE_SECONDS, what=STEP)


def _filled(texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    filled = dict(texts)
    for key in filled:
        for name, value in names.items():
            filled[key] = filled[key].replace(name, value)
    return filled
