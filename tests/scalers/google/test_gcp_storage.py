"""`gcp-storage` against a server of its API."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from keda_py.errors import ScalerError
from tests.http_server import http_server
from tests.scalers.servers.fake_gcs import fake_gcs
from tests.servers import free_port

TYPE = "gcp-storage"
AUTH = {"GoogleApplicationCredentials": "{}"}


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with fake_gcs(free_port(), tmp_path_factory.mktemp("gcs")) as url:
        with httpx.Client(base_url=url, trust_env=False) as client:
            client.post("/storage/v1/b", json={"name": "pictures"}).raise_for_status()
            folders = ("in/", "out/", "in/deep/")  # objects without content, as consoles make them
            for name in (*folders, "in/a", "in/b", "in/deep/c", "out/d", "e"):
                upload = f"/upload/storage/v1/b/pictures/o?uploadType=media&name={name}"
                client.post(upload, content=b"" if name in folders else b"x").raise_for_status()
        yield url


@pytest.fixture
def emulator(gcs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.removeprefix("http://"))


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        ({}, 5),
        ({"blobPrefix": "in/"}, 3),
        ({"blobPrefix": "in/", "blobDelimiter": "/"}, 2),
        ({"blobPrefix": "none"}, 0),
        ({"maxBucketItemsToScan": "4"}, 4),
    ],
)
async def test_the_objects_of_a_bucket_count(bench: Any, metadata: dict[str, str], count: int) -> None:
    scaler = await bench.opened(TYPE, {"bucketName": "pictures", **metadata}, auth=AUTH)
    assert (await scaler.read()).value == count


@pytest.mark.usefixtures("emulator")
async def test_a_bucket_that_does_not_exist_has_no_objects_and_says_why(bench: Any) -> None:
    reading = await (await bench.opened(TYPE, {"bucketName": "nothing"}, auth=AUTH)).read()
    assert (reading.value, reading.note) == (0.0, "the bucket does not exist, which counts as 0")


@pytest.mark.parametrize(
    ("answer", "message"),
    [("<html>", "not JSON"), ('{"items": 5}', "items"), ('{"nextPageToken": "again"}', "more than 1000 pages")],
)
async def test_an_answer_that_does_not_tell_is_an_error(
    bench: Any, monkeypatch: pytest.MonkeyPatch, answer: str, message: str
) -> None:
    async with http_server() as server:
        server.answers["/storage/v1/b/a%2Fb/o"] = server.answers["/storage/v1/b/a/b/o"] = answer
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        scaler = await bench.opened(TYPE, {"bucketName": "a/b"}, auth=AUTH)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()
