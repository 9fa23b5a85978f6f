"""`openstack-swift` and `openstack-metric` against scripted servers, where the recorded exchanges say nothing."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from tests.http_server import HttpServer, http_server


@dataclass
class Cloud:
    """Keystone, Swift and Gnocchi at one address; tokens are numbered, and `good` are believed."""

    server: HttpServer
    tokens: int = 0
    good: set[str] = field(default_factory=set)
    catalog: list[Any] = field(default_factory=list)
    measures: Any = field(default_factory=list)
    logins: list[Any] = field(default_factory=list)

    async def keystone(self, request: web.Request) -> web.Response:
        if request.method == "HEAD":
            return web.Response(status=200 if request.headers["X-Auth-Token"] in self.good else 404)
        login = orjson.loads(await request.read())["auth"]["identity"]
        self.logins.append(login)
        if "wrong" in str(login):
            return web.Response(status=401, text="wrong is wrong")
        self.tokens += 1
        token = f"token-{self.tokens}"
        self.good.add(token)
        body = {"token": {"catalog": self.catalog}}
        return web.json_response(body, status=201, headers={"X-Subject-Token": token})

    async def swift(self, request: web.Request) -> web.Response:
        if request.headers["X-Auth-Token"] not in self.good:
            return web.Response(status=401)
        return web.Response(status=204, headers={"X-Container-Object-Count": "7"})

    async def gnocchi(self, request: web.Request) -> web.Response:
        return web.json_response(self.measures)


@pytest.fixture
async def cloud() -> AsyncIterator[Cloud]:
    async with http_server() as server:
        cloud = Cloud(server)
        server.answers |= {
            "/identity/v3/auth/tokens": cloud.keystone,
            "/swift/pictures": cloud.swift,
            "/v1/metric/m-1/measures": cloud.gnocchi,
        }
        yield cloud


def auth(cloud: Cloud, **more: str) -> dict[str, str]:
    user = {"authURL": f"{cloud.server.url}/identity/", "userID": "u", "password": "s3cret", "projectID": "p"}
    return {**user, **more}


def swift(cloud: Cloud, **metadata: str) -> dict[str, str]:
    return {"swiftURL": f"{cloud.server.url}/swift", "containerName": "pictures", **metadata}


def metric(cloud: Cloud, **metadata: str) -> dict[str, str]:
    asked = {"metricID": "m-1", "aggregationMethod": "mean", "granularity": "60", "threshold": "5"}
    return {"metricsURL": f"{cloud.server.url}/v1/metric", **asked, **metadata}


async def test_triggers_with_one_credential_share_a_token(bench: Any, cloud: Cloud) -> None:
    scalers = [await bench.opened("openstack-swift", swift(cloud), auth=auth(cloud)) for _ in range(3)]
    assert [(await scaler.read()).value for scaler in scalers] == [7, 7, 7]
    assert cloud.tokens == 1
    await bench.opened("openstack-swift", swift(cloud), auth=auth(cloud), namespace="other")
    await bench.opened("openstack-swift", swift(cloud), auth=auth(cloud, password="other"))
    assert cloud.tokens == 3


@pytest.mark.parametrize("trigger_type", ["openstack-swift", "openstack-metric"])
async def test_a_token_that_is_refused_is_renewed(bench: Any, cloud: Cloud, trigger_type: str) -> None:
    cloud.measures = [["t", 60, 7]]
    metadata = swift(cloud) if trigger_type == "openstack-swift" else metric(cloud)
    scaler = await bench.opened(trigger_type, metadata, auth=auth(cloud))
    cloud.good.clear()
    if trigger_type == "openstack-swift":
        with pytest.raises(ScalerError, match="container pictures: status 401"):
            await scaler.read()
    assert (await scaler.read()).value == 7
    assert cloud.tokens == 2


@pytest.mark.parametrize("trigger_type", ["openstack-swift", "openstack-metric"])
async def test_a_question_may_take_as_long_as_the_trigger_says(bench: Any, cloud: Cloud, trigger_type: str) -> None:
    metadata = swift(cloud) if trigger_type == "openstack-swift" else metric(cloud)
    scaler = await bench.opened(trigger_type, metadata, auth=auth(cloud), timeout=0.8)
    cloud.measures = [["t", 60, 7]]
    late = asyncio.Event()
    asyncio.get_running_loop().call_later(1.2, late.set)
    path = "/swift/pictures" if trigger_type == "openstack-swift" else "/v1/metric/m-1/measures"
    answer = cloud.swift if trigger_type == "openstack-swift" else cloud.gnocchi

    async def answer_late(request: web.Request) -> web.Response:
        await late.wait()
        return await answer(request)

    cloud.server.answers[path] = answer_late
    assert (await scaler.read()).value == 7


async def test_an_application_credential_is_sent_whole(bench: Any, cloud: Cloud) -> None:
    own = {"authURL": f"{cloud.server.url}/identity", "appCredentialID": "id", "appCredentialSecret": "s"}
    await bench.opened("openstack-metric", metric(cloud), auth=own)
    (login,) = cloud.logins
    assert login["application_credential"] == {"id": "id", "secret": "s"}


async def test_a_wrong_password_is_an_error_that_does_not_tell_it(bench: Any, cloud: Cloud) -> None:
    with pytest.raises(ScalerError, match="Keystone gave no token: status 401") as refused:
        await bench.opened("openstack-swift", swift(cloud), auth=auth(cloud, password="wrong"))
    assert "wrong" not in str(refused.value)


async def test_a_catalog_without_an_object_store_is_an_error(bench: Any, cloud: Cloud) -> None:
    scaler = await bench.opened("openstack-swift", {"containerName": "pictures"}, auth=auth(cloud, regionName="R1"))
    with pytest.raises(ScalerError, match="no object store in region R1: write swiftURL"):
        await scaler.read()


@pytest.mark.parametrize("catalog", [[{"type": 5}], [5], {"type": "object-store"}])
async def test_a_catalog_of_another_shape_is_an_error(bench: Any, cloud: Cloud, catalog: Any) -> None:
    cloud.catalog = catalog
    with pytest.raises(ScalerError, match="in the answer is not"):
        await bench.opened("openstack-swift", swift(cloud), auth=auth(cloud))


@pytest.mark.parametrize("measures", [{}, [5], [["t", 60, True]], [["t", 60, None]], [["t"]]])
async def test_measures_of_another_shape_are_an_error(bench: Any, cloud: Cloud, measures: Any) -> None:
    cloud.measures = measures
    scaler = await bench.opened("openstack-metric", metric(cloud), auth=auth(cloud))
    with pytest.raises(ScalerError, match="measure"):
        await scaler.read()


async def test_settings_without_effect_are_told(bench: Any, cloud: Cloud) -> None:
    metadata = swift(cloud, objectPrefix="in/", onlyFiles="true")
    told = bench.scaler("openstack-swift", metadata, auth=auth(cloud)).cautions
    assert [text.partition(":")[0] for text in told] == ["objectPrefix", "onlyFiles"]


async def test_metadata_that_is_refused(bench: Any, cloud: Cloud) -> None:
    with pytest.raises(ConfigError, match="projectID must be specified"):
        bench.scaler("openstack-swift", swift(cloud), auth=auth(cloud, projectID=""))
    with pytest.raises(ConfigError, match="granularity"):
        bench.scaler("openstack-metric", metric(cloud, granularity="0"), auth=auth(cloud))
