"""An honest source in a process of its own, which also looks after the operator's health: the witness of each trial.

    python -m tests.hostile.witness PORT HEALTH_PORT KEY

    GET /value           the number, for whoever shows the API key; each question is remembered with its time
    GET /set?value=3     another number
    GET /hang            no answer
    GET /report?since=T  what has happened since T, as JSON (`Report`)

Times are those of the machine's monotonic clock, which all processes share. Nothing is imported that is slow to import,
and nothing here is as busy as the tests are: how late this process itself comes is how starved the machine is.
"""

import asyncio
import json
import sys
import time
from urllib.parse import parse_qs, urlsplit

PROBE_PAUSE, PROBE_SECONDS = 0.1, 10.0
TICK = 0.05


class Witness:
    """What was seen; lists of (when, what)."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.value = 0.0
        self.asked: list[float] = []
        self.refused: list[float] = []
        self.probes: list[tuple[float, float]] = []
        """When an answer came, or was waited for no longer, and how long it took."""
        self.late: list[tuple[float, float]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                target = head.split(b" ", 2)[1].decode()
                if target == "/hang":
                    await reader.read()
                    break
                status, body = self._respond(target, head)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _respond(self, target: str, head: bytes) -> tuple[int, str]:
        url = urlsplit(target)
        asked = {name: float(given[0]) for name, given in parse_qs(url.query).items()}
        match url.path:
            case "/value" if f"x-api-key: {self._key}".encode() in head.replace(b"X-API-KEY", b"x-api-key"):
                self.asked.append(time.monotonic())
                return 200, json.dumps({"value": self.value})
            case "/value":
                self.refused.append(time.monotonic())
                return 401, ""
            case "/set":
                self.value = asked["value"]
                return 200, ""
            case "/report":
                return 200, json.dumps(self._report(asked["since"]))
        return 404, ""

    def _report(self, since: float) -> dict[str, object]:
        return {
            "now": time.monotonic(),
            "asked": [at for at in self.asked if at >= since],
            "refused": [at for at in self.refused if at >= since],
            "probes": [took for at, took in self.probes if at >= since],
            "late": [late for at, late in self.late if at >= since],
        }

    async def probe(self, port: int) -> None:
        """Ask /healthz, one question after the other; one without an answer took as long as was waited."""
        while True:
            began = time.monotonic()
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    await _healthz(port)
                took = time.monotonic() - began
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                took = PROBE_SECONDS
            self.probes.append((time.monotonic(), took))
            await asyncio.sleep(PROBE_PAUSE)

    async def tick(self) -> None:
        """How much later than due this process comes."""
        while True:
            due = time.monotonic() + TICK
            await asyncio.sleep(TICK)
            self.late.append((time.monotonic(), time.monotonic() - due))


async def _healthz(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n")
        await reader.readuntil(b" 200 OK\r\n")
    finally:
        writer.close()


async def main(port: int, health_port: int, key: str) -> None:
    witness = Witness(key)
    server = await asyncio.start_server(witness.answer, "127.0.0.1", port)
    async with server, asyncio.TaskGroup() as tasks:
        tasks.create_task(witness.probe(health_port))
        tasks.create_task(witness.tick())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
