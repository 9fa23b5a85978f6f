"""`request` on what wakers have told: active for a while after a request, an error where none could arrive."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from keda_py.core.waking.spec import WakeSpec
from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import A_SATURDAY, FakeClock, check_scaler, shared_context
from scalers.request import RequestScaler
from tests.scalers.conftest import Bench


@dataclass
class Wakers:
    last: datetime | None = None
    problem: str = ""

    def last_request(self, namespace: str, name: str) -> datetime | None:
        return self.last

    def obstacle(self, namespace: str, name: str, wake: WakeSpec) -> str:
        return self.problem


async def test_it_is_active_for_a_while_after_a_request() -> None:
    clock, wakers = FakeClock(A_SATURDAY), Wakers()
    async with shared_context(clock=clock) as lent:
        scaler = await Bench(replace(lent, wakes=wakers)).opened("request", {"activeFor": "30m"})
        before = await scaler.read()
        assert (before.value, before.active) == (0.0, False)
        wakers.last = clock.now()
        during = await scaler.read()
        assert (during.value, during.active) == (1.0, True)
        assert during.changes_at == A_SATURDAY + timedelta(minutes=30)
        await clock.advance(timedelta(minutes=30))
        assert not (await scaler.read()).active


async def test_a_request_of_the_future_counts_as_one_of_now() -> None:
    clock = FakeClock(A_SATURDAY)
    async with shared_context(clock=clock) as lent:
        wakers = Wakers(last=datetime.max.replace(tzinfo=A_SATURDAY.tzinfo))
        scaler = await Bench(replace(lent, wakes=wakers)).opened("request", {})
        assert (await scaler.read()).changes_at == A_SATURDAY + timedelta(minutes=10)


async def test_without_wakers_it_is_an_error_with_a_remedy(bench: Bench) -> None:
    scaler = await bench.opened("request", {})
    with pytest.raises(ScalerError, match=r"no wakers are installed; set the chart's waker\.enabled"):
        await scaler.read()


async def test_what_no_request_can_wake_is_an_error_unless_it_is_active() -> None:
    clock = FakeClock(A_SATURDAY)
    async with shared_context(clock=clock) as lent:
        wakers = Wakers(last=clock.now(), problem="no waker is ready")
        scaler = await Bench(replace(lent, wakes=wakers)).opened("request", {})
        assert (await scaler.read()).active
        await clock.advance(timedelta(hours=1))
        with pytest.raises(ScalerError, match="no waker is ready"):
            await scaler.read()


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"activeFor": "10s"}, "activeFor: '10s' is too short; write 1m or more"),
        ({"activeFor": "soon"}, "activeFor: 'soon' is not a duration up to 366d"),
        ({"hold": "1h"}, "hold: '1h' is not between 1s and 10m; write for example 2m"),
        ({"page": "Maybe"}, "page: 'Maybe' is none of Auto, Never, Confirm; write one of them"),
        ({"ignorePaths": "healthz"}, "ignore.paths[0]: 'healthz' is not a path; write for example /healthz"),
        ({"ignoreStatus": "404"}, "ignore.status: 404 is not 200 or 503; write one of them"),
    ],
)
def test_a_wrong_key_is_refused_with_a_remedy(bench: Bench, keys: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("request", keys)
    assert told in str(refused.value)


async def test_it_keeps_the_contract_of_scalers() -> None:
    async with shared_context() as lent:
        bench = Bench(replace(lent, wakes=Wakers(last=A_SATURDAY)))
        await check_scaler(
            RequestScaler, Trigger(type="request", metadata={"services": "web"}), bench.scaler("request", {}).context
        )
