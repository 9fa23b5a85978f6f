"""`keda-py advise --diff` as a process of its own: weeks of samples need CPU and memory that the operator has not.

The process gets manifests by its input and asks the cluster nothing; of our variables it has those of proxies alone. It
has limits of CPU time, memory and wall-clock time, and a low priority; whatever ends it, the operator goes on.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from keda_py.apis.foreign import maps_at, text_at, value_at
from keda_py.errors import ScalerError

_CPU_SECONDS, _MEMORY, _SECONDS = 300, 1536 * 2**20, 1800.0
_LONGEST_ERROR = 300
_FROM_ENVIRONMENT = (
    "LD_LIBRARY_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
_SCRIPT = """
import os, resource, sys
from contextlib import suppress
from pathlib import Path
with suppress(OSError):  # Linux has it: where memory runs out, this process ends and not the operator
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
sys.path[:] = {path!r}
os.nice(10)
resource.setrlimit(resource.RLIMIT_CPU, ({cpu}, {cpu}))
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from keda_py.cli import main
sys.exit(main({arguments!r}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFit:
    """How the hours of the Environment `environment` fit the use of one workload."""

    environment: str
    fits: bool
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceSource:
    """A Prometheus, and the file with a token for it, "" for none."""

    url: str
    token_file: str = ""

    async def ask(self, namespace: str, zone: str, manifests: Sequence[Mapping[str, Any]]) -> Sequence[WorkloadFit]:
        """Ask about the workloads of a namespace that has these manifests. Raises ScalerError with the reason."""
        arguments = ["advise", "-", "-n", namespace, "--prometheus", self.url, "--diff", "-o", "json"]
        arguments += (
            [f"--timezone={zone}"] if zone else []
        )  # whatever a tenant writes there is its value, and no option
        arguments += ["--bearer-token-file", self.token_file] if self.token_file else []
        # In a thread: a namespace may have thousands of workloads.
        text = await asyncio.to_thread(lambda: "\n---\n".join(map(json.dumps, manifests)).encode())
        code, answer, error = await _run(arguments, text)
        try:
            return _read(json.loads(answer))
        except (ValueError, RecursionError):
            last = error.decode(errors="replace").strip().rpartition("\n")[2][:_LONGEST_ERROR]
            raise ScalerError(last or f"the process that finds hours ended with code {code}") from None


def _read(document: Any) -> Sequence[WorkloadFit]:
    return [
        WorkloadFit(
            environment=text_at(each, "environment"),
            fits=value_at(each, "fits") is not False,
            sentence=text_at(each, "because"),
        )
        for each in maps_at(document, "standing")
    ]


def _script(arguments: Sequence[str]) -> str:
    path = [os.path.abspath(folder) for folder in sys.path]  # the process starts in another folder
    return _SCRIPT.format(path=path, cpu=_CPU_SECONDS, memory=_MEMORY, arguments=list(arguments))


async def _run(arguments: Sequence[str], manifests: bytes) -> tuple[int, bytes, bytes]:
    environment = {name: os.environ[name] for name in _FROM_ENVIRONMENT if name in os.environ}
    options = ("-I", "-B", "-X", "utf8", "-c", _script(arguments))
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *options, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, cwd="/"
        )
    except OSError as error:
        raise ScalerError(f"the process that finds hours cannot start: {error.strerror}") from None
    try:
        async with asyncio.timeout(_SECONDS):
            answer, error_text = await process.communicate(manifests)
    except TimeoutError:
        raise ScalerError(f"no hours were found within {_SECONDS / 60:.0f} min") from None
    finally:
        await _end(process)
    return process.returncode or 0, answer, error_text


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
