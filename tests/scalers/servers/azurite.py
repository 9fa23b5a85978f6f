"""Azurite, Azure's own double of its storage accounts: `npm install -g azurite@3.37.0`."""

import base64
import hashlib
import hmac
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from pathlib import Path

import httpx
import pytest

from tests.servers import STARTUP_SECONDS, free_port, running

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of every Azurite, as its documentation has it."""


class Azurite:
    """A running server, and what a test puts into it. Signatures are this file's own."""

    def __init__(self, blob_port: int, queue_port: int) -> None:
        self.endpoints = {
            "blob": f"http://127.0.0.1:{blob_port}/{ACCOUNT}",
            "queue": f"http://127.0.0.1:{queue_port}/{ACCOUNT}",
        }

    def connection(self, key: str = KEY) -> str:
        """The connection string."""
        blob, queue = self.endpoints["blob"], self.endpoints["queue"]
        return f"AccountName={ACCOUNT};AccountKey={key};BlobEndpoint={blob};QueueEndpoint={queue}"

    def signed(self, service: str) -> str:
        """A connection string with a shared access signature that may read and list."""
        granted = {"sv": "2021-12-02", "ss": service[0], "srt": "sco", "sp": "rlp", "se": "2099-01-01T00:00:00Z"}
        parts = (
            ACCOUNT,
            granted["sp"],
            granted["ss"],
            granted["srt"],
            "",
            granted["se"],
            "",
            "",
            granted["sv"],
            "",
            "",
        )
        signature = httpx.QueryParams({**granted, "sig": _signature("\n".join(parts))})
        return f"{service.capitalize()}Endpoint={self.endpoints[service]};SharedAccessSignature={signature}"

    def create_queue(self, name: str, *messages: str) -> None:
        self._ask("PUT", f"queue/{name}")
        for message in messages:
            text = f"<QueueMessage><MessageText>{message}</MessageText></QueueMessage>"
            self._ask(
                "POST", f"queue/{name}/messages", content=text.encode(), headers={"Content-Type": "application/xml"}
            )

    def hide_message(self, queue: str) -> None:
        """Receive one, so that it is not visible."""
        self._ask("GET", f"queue/{queue}/messages", {"numofmessages": "1", "visibilitytimeout": "600"})

    def create_container(self, name: str, *blobs: str) -> None:
        self._ask("PUT", f"blob/{name}", {"restype": "container"})
        for blob in blobs:
            self.put_blob(f"{name}/{blob}", b"x")

    def put_blob(self, path: str, content: bytes, **metadata: str) -> None:
        headers = {f"x-ms-meta-{name}": value for name, value in metadata.items()}
        headers |= {"Content-Type": "text/plain", "x-ms-blob-type": "BlockBlob"}
        self._ask("PUT", f"blob/{path}", content=content, headers=headers)

    def _ask(
        self,
        method: str,
        place: str,
        query: Mapping[str, str] | None = None,
        *,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`place` is the service and the path in it."""
        service, _, path = place.partition("/")
        query, own = query or {}, {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
        own |= headers or {}
        kind = own.get("Content-Type", "")
        named = "".join(f"{name}:{value}\n" for name, value in sorted(own.items()) if name.startswith("x-ms-"))
        resource = f"/{ACCOUNT}/{ACCOUNT}/{path}" + "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        length = str(len(content)) if content else ""
        text = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{named}{resource}"
        own["Authorization"] = f"SharedKey {ACCOUNT}:{_signature(text)}"
        url = f"{self.endpoints[service]}/{path}"
        answer = httpx.request(
            method, url, params=query, headers=own, content=content, trust_env=False, timeout=STARTUP_SECONDS
        )
        assert answer.is_success or answer.status_code == httpx.codes.CONFLICT, answer.text


def _signature(text: str) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()


@contextmanager
def run_azurite(folder: Path) -> Iterator[Azurite]:
    """Run an Azurite in memory."""
    program = shutil.which("azurite")
    if program is None:
        pytest.skip("needs azurite: npm install -g azurite@3.37.0")
    blob, queue, table = free_port(), free_port(), free_port()
    ports = {"blob": blob, "queue": queue, "table": table}
    options = [
        part for name, port in ports.items() for part in (f"--{name}Host", "127.0.0.1", f"--{name}Port", str(port))
    ]
    settings = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    with ExitStack() as stack:
        stack.enter_context(running([program, *settings, *options], table, folder / "log"))
        yield Azurite(blob, queue)
