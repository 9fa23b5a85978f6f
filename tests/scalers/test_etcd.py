"""`etcd` against a real etcd: plain, with users, and with TLS."""

import asyncio
import base64
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.etcd import EtcdScaler
from tests.certificates import Authority
from tests.scalers.servers.etcd import etcd

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with etcd(tmp_path_factory.mktemp("etcd")) as url:
        yield url


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def ask(url: str, path: str, question: dict[str, Any], token: str = "") -> Any:
    headers = {"Authorization": token} if token else {}
    async with httpx.AsyncClient(trust_env=False, verify=False, headers=headers) as client:
        return (await client.post(f"{url}/v3/{path}", json=question)).raise_for_status().json()


async def put(url: str, key: str, value: str, token: str = "") -> None:
    await ask(url, "kv/put", {"key": coded(key), "value": coded(value)}, token)


async def switch_authentication_on(url: str) -> None:
    await ask(url, "auth/user/add", {"name": "root", "password": "s3cret"})
    await ask(url, "auth/role/add", {"name": "root"})
    await ask(url, "auth/user/grant", {"user": "root", "role": "root"})
    await ask(url, "auth/enable", {})


def on(url: str, key: str = "load", **more: str) -> dict[str, str]:
    return {"endpoints": url.partition("://")[2], "watchKey": key, "value": "5", **more}


async def test_the_number_of_a_key(bench: Any, url: str) -> None:
    await put(url, "load", "12.5")
    scaler = await bench.opened("etcd", on(url))
    assert (await scaler.read()).value == 12.5
    await put(url, "load", "3")
    assert (await scaler.read()).value == 3


@pytest.mark.parametrize(
    ("text", "value"), [("NaN", 0), ("Inf", 0), ("-Inf", 0), ("+3", 3), (".5", 0.5), ("1e3", 1000)]
)
async def test_what_go_reads_as_a_number_is_one_and_what_is_not_finite_is_inactive(
    bench: Any, url: str, text: str, value: float
) -> None:
    await put(url, "words", text)
    reading = await (await bench.opened("etcd", on(url, "words"))).read()
    assert (reading.value, bool(reading.note)) == (value, text.lower().endswith(("nan", "inf")))


@pytest.mark.parametrize("text", ["many", "", "1_000", "1e400", " 7 "])
async def test_a_key_without_a_number_is_an_error(bench: Any, url: str, text: str) -> None:
    await put(url, "words", text)
    scaler = await bench.opened("etcd", on(url, "words"))
    with pytest.raises(ScalerError, match="key words holds no number"):
        await scaler.read()


async def test_a_missing_key_is_an_error(bench: Any, url: str) -> None:
    scaler = await bench.opened("etcd", on(url, "gone"))
    with pytest.raises(ScalerError, match="key gone doesn't exist"):
        await scaler.read()


async def test_the_endpoint_that_answers_is_found_and_kept(bench: Any, url: str) -> None:
    await put(url, "load", "4")
    there = url.partition("://")[2]
    scaler = await bench.opened("etcd", on(url, endpoints=f"127.0.0.1:1,{there}"))
    assert (await scaler.read()).value == 4
    assert [server.address for server in scaler._etcd.servers] == [there, "127.0.0.1:1"]
    none = await bench.opened("etcd", on(url, endpoints="127.0.0.1:1"))
    with pytest.raises(ScalerError, match=r"gRPC 127\.0\.0\.1:1 Range: UNAVAILABLE"):
        await none.read()


@pytest.mark.parametrize("address", ["localhost", "a:b:c", "host:port", "[::1"])
async def test_an_endpoint_without_host_and_port_is_an_error_that_names_it(bench: Any, address: str) -> None:
    scaler = await bench.opened("etcd", on("", endpoints=address))
    with pytest.raises(ScalerError, match="endpoints: .* is not host:port, such as etcd.shop:2379"):
        await scaler.read()


@pytest.mark.parametrize("form", ["http://{}/", "http://{}/a/path", "{}/"])
async def test_what_follows_the_server_in_an_endpoint_is_passed_over(bench: Any, url: str, form: str) -> None:
    await put(url, "load", "4")
    there = url.partition("://")[2]
    scaler = await bench.opened("etcd", on(url, endpoints=form.format(there)))
    assert (await scaler.read()).value == 4


async def test_credentials_do_no_harm_where_authentication_is_off_and_count_once_it_is_on(
    bench: Any, tmp_path: Path
) -> None:
    with etcd(tmp_path) as url:
        await put(url, "load", "7")
        scaler = await bench.opened("etcd", on(url), auth={"username": "root", "password": "s3cret"})
        assert [(await scaler.read()).value for _ in range(2)] == [7, 7]
        await switch_authentication_on(url)
        assert (await scaler.read()).value == 7


async def test_a_user_logs_in_and_logs_in_again_when_the_token_ends(bench: Any, tmp_path: Path) -> None:
    with etcd(tmp_path) as url:
        await put(url, "load", "7")
        await switch_authentication_on(url)
        good = {"username": "root", "password": "s3cret"}
        scaler = await bench.opened("etcd", on(url), auth=good)
        assert (await scaler.read()).value == 7
        scaler._etcd._token = "ended.1"
        assert (await scaler.read()).value == 7
        for auth in ({}, {**good, "password": "hunter2"}):
            refused = await bench.opened("etcd", on(url), auth=auth)
            with pytest.raises(ScalerError, match="user name is empty|invalid user ID or password") as wrong:
                await refused.read()
            assert "hunter2" not in str(wrong.value)


async def put_again_and_again(url: str, key: str, value: str) -> None:
    """A change before a stream is open is not told."""
    while True:
        await put(url, key, value)
        await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_each_change_of_the_key_is_told_at_once(bench: Any, url: str) -> None:
    await put(url, "told", "0")
    scaler = await bench.opened("etcd", on(url, "told", activationValue="2"))
    async with asyncio.timeout(20), aclosing(scaler.watch()) as stream:
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(put_again_and_again(url, "told", "5"))
            assert await anext(stream)
            writing.cancel()
        for text, active in (("2", False), ("words", False), ("3", True)):
            await put(url, "told", text)
            while await anext(stream) != active:
                pass


async def test_tls_with_a_client_certificate(bench: Any, tmp_path: Path) -> None:
    authority = Authority()
    client = authority.leaf("keda")
    auth = {"tls": "enable", "ca": authority.cert, "cert": client.cert, "key": client.key}
    with etcd(tmp_path, authority) as url:
        scaler = await bench.opened("etcd", on(url), auth=auth)
        with pytest.raises(ScalerError, match="key load doesn't exist"):
            await scaler.read()
        for wrong in ({}, {"tls": "enable"}, {"tls": "enable", "ca": authority.cert}):
            refused = await bench.opened("etcd", on(url), auth=wrong)
            with pytest.raises(ScalerError, match="gRPC .* Range: UNAVAILABLE"):
                await refused.read()


async def test_an_etcd_that_starts_again_is_read_again_at_once(bench: Any, tmp_path: Path) -> None:
    with etcd(tmp_path) as url:
        await put(url, "load", "7")
        scaler = await bench.opened("etcd", on(url))
        assert (await scaler.read()).value == 7
    with pytest.raises(ScalerError, match="Range: UNAVAILABLE: Connection refused"):
        await scaler.read()
    with etcd(tmp_path, port=int(url.rpartition(":")[2])):
        assert (await scaler.read()).value == 7


async def test_a_value_that_is_too_long_is_an_error_of_its_key_alone(bench: Any, url: str) -> None:
    await put(url, "long", "7" * 70_000)
    await put(url, "load", "4")
    long, load = [await bench.opened("etcd", on(url, key)) for key in ("long", "load")]
    with pytest.raises(ScalerError, match="RESOURCE_EXHAUSTED: the answer is longer than 65536 bytes"):
        await long.read()
    assert (await load.read()).value == 4


async def test_many_keys_are_read_at_once(bench: Any, url: str) -> None:
    for number in range(150):
        await put(url, f"key-{number}", str(number))
    scalers = [await bench.opened("etcd", on(url, f"key-{number}")) for number in range(150)]
    readings = await asyncio.gather(*(scaler.read() for scaler in scalers))
    assert [one.value for one in readings] == list(range(150))


async def test_the_contract_is_kept(bench: Any, url: str) -> None:
    await put(url, "load", "1")
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(EtcdScaler, Trigger(type="etcd", metadata=on(url)), context)
