"""`read_once` and `json_server`, with which an author tests a scaler in fifteen lines."""

import pytest

from keda_py.core.reading import Reading
from keda_py.errors import ScalerError
from keda_py.sdk.contract import Scaler
from keda_py.sdk.metadata.model import TriggerMetadata
from keda_py.testing import json_server, read_once


class LevelMetadata(TriggerMetadata):
    url: str
    activation: float = 0.0


class LevelScaler(Scaler[LevelMetadata]):
    metric_name, target = "level", 5.0
    closed = 0

    async def read(self) -> Reading:
        answer = await self.context.http.post(f"{self.metadata.url}/level?of=tap", json={"unit": "m"})
        if answer.status_code == 404:
            raise ScalerError("there is no tap")
        return Reading(value=answer.json()["value"])

    async def aclose(self) -> None:
        type(self).closed += 1


class EmptyScaler(LevelScaler):
    target = 0.0


async def test_a_scaler_reads_once_and_the_server_knows_what_was_asked() -> None:
    with json_server({"/level": {"value": 7}}) as server:
        before = LevelScaler.closed
        assert (await read_once(LevelScaler, {"url": server.url})).value == 7
        (asked,) = server.asked
    assert asked[0] == "/level?of=tap"
    assert asked[1]["Content-Type"] == "application/json"
    assert LevelScaler.closed == before + 2  # once by the check of the contract


async def test_another_path_is_not_found_and_a_scaler_error_is_passed_on() -> None:
    with json_server({}) as server, pytest.raises(ScalerError, match="there is no tap"):
        await read_once(LevelScaler, {"url": server.url})


async def test_a_broken_promise_of_the_contract_is_told_before_anything_is_asked() -> None:
    with json_server({"/level": {"value": 7}}) as server:
        with pytest.raises(AssertionError, match=r"EmptyScaler: the target 0\.0 is not above 0"):
            await read_once(EmptyScaler, {"url": server.url})
        assert server.asked == []
