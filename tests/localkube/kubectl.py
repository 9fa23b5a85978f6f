"""Runs the real kubectl against a LocalCluster in this process; the caller names its folder for discovery caches."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

BINARY = shutil.which("kubectl") or ""
needs_kubectl = pytest.mark.skipif(not BINARY, reason="kubectl is missing (package kubectl or kubernetes-client)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubectlResult:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    kubeconfig: Path
    cache: Path
    namespace: str = ""
    """The namespace of every command; "" leaves it to arguments, manifests and the kubeconfig."""
    timeout: float = 240

    async def try_run(self, *words: str, stdin: Any = None) -> KubectlResult:
        async with self.started(*words, stdin=stdin) as process, asyncio.timeout(self.timeout):
            text = orjson.dumps(stdin) if stdin is not None else None
            out, err = await process.communicate(text)
            return KubectlResult(code=process.returncode or 0, out=out.decode(), err=err.decode())

    async def run(self, *words: str, stdin: Any = None) -> str:
        outcome = await self.try_run(*words, stdin=stdin)
        assert outcome.code == 0, f"kubectl {' '.join(words)}: {outcome.err or outcome.out}"
        return outcome.out

    async def json(self, *words: str) -> Any:
        return orjson.loads(await self.run(*words, "-o", "json"))

    @asynccontextmanager
    async def started(self, *words: str, stdin: Any = None) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            BINARY,
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.cache}",
            *((f"--namespace={self.namespace}",) if self.namespace else ()),
            *words,
            env={**os.environ, "GOGC": "off"},  # it ends before garbage collection would pay
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
