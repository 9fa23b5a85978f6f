"""graphite-web behind wsgiref, and carbon-cache that takes points as lines; both end with their handles."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.servers import LOOPBACK, STARTUP_SECONDS, free_port, running

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

PYTHON, CARBON = "/usr/bin/python3", "/usr/bin/carbon-cache"
_SERVE = """\
import django
django.setup()
from wsgiref.simple_server import make_server
from django.core.handlers.wsgi import WSGIHandler
make_server("127.0.0.1", {port}, WSGIHandler()).serve_forever()
"""
_SETTINGS = """\
STORAGE_DIR = "{folder}/storage"
WHISPER_DIR = LOG_DIR = STORAGE_DIR
STANDARD_DIRS = [WHISPER_DIR]
DATA_DIRS = [WHISPER_DIR]
CONF_DIR = "{folder}"
INDEX_FILE = STORAGE_DIR + "/index"
SECRET_KEY = "x"
ALLOWED_HOSTS = ["*"]
CARBONLINK_HOSTS = ["127.0.0.1:{query}:a"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": STORAGE_DIR + "/db"}}}}
LOG_FILE_INFO = LOG_FILE_EXCEPTION = "-"
"""
_CARBON = """\
[cache]
STORAGE_DIR = {folder}/storage
CONF_DIR = {folder}
LOG_DIR = {folder}/storage
PID_DIR = {folder}/storage
LOCAL_DATA_DIR = {folder}/storage
USER =
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {lines}
ENABLE_UDP_LISTENER = False
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {pickles}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {query}
MAX_CREATES_PER_MINUTE = inf
LOG_UPDATES = False
CARBON_METRIC_INTERVAL = 0
"""


@dataclass(frozen=True, slots=True)
class Graphite:
    """A Graphite: its address for queries, and its port for metrics."""

    url: str
    lines: int

    def send(self, name: str, values: list[float]) -> None:
        """The last of them is of this second; returns when the render API shows it."""
        now = int(time.time())  # noqa: TID251 - what carbon keeps is of the wall clock
        with socket.create_connection((LOOPBACK, self.lines)) as connection:
            for age, value in enumerate(reversed(values)):
                connection.sendall(f"{name} {value} {now - age}\n".encode())
        deadline = time.monotonic() + STARTUP_SECONDS
        while str(values[-1]) not in httpx.get(f"{self.url}/render?target={name}&format=json&from=-30s").text:
            assert time.monotonic() < deadline, f"{name} is not rendered"
            time.sleep(ASK_AGAIN_SECONDS)


@contextmanager
def graphite(folder: Path) -> Iterator[Graphite]:
    """Skips where a package is missing."""
    for path, package in ((CARBON, "graphite-carbon"), ("/usr/bin/graphite-manage", "graphite-web")):
        if not os.access(path, os.X_OK):
            pytest.skip(f"needs {path}: apt-get install {package}")
    lines, pickles, query, port = (free_port() for _ in range(4))
    (folder / "storage").mkdir()
    (folder / "carbon.conf").write_text(_CARBON.format(folder=folder, lines=lines, pickles=pickles, query=query))
    (folder / "storage-schemas.conf").write_text("[all]\npattern = .*\nretentions = 1s:1h\n")
    (folder / "graphite_here.py").write_text(_SETTINGS.format(folder=folder, query=query))
    (folder / "serve.py").write_text(_SERVE.format(port=port))
    settings = {"DJANGO_SETTINGS_MODULE": "graphite.settings", "GRAPHITE_SETTINGS_MODULE": "graphite_here"}
    web = ["env", f"PYTHONPATH={folder}", *(f"{name}={value}" for name, value in settings.items()), PYTHON]
    carbon = [PYTHON, CARBON, f"--config={folder}/carbon.conf", "--nodaemon", f"--pidfile={folder}/pid", "start"]
    with (
        running(carbon, lines, folder / "carbon.log"),
        running([*web, str(folder / "serve.py")], port, folder / "web.log"),
    ):
        yield Graphite(f"http://{LOOPBACK}:{port}", lines)
