"""What all trials of a module share: a cluster, the operator, the witness, Redis, and the innocent tenant's objects."""

import asyncio
import resource
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from keda_py.clock import SystemClock
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES, VALIDATING_WEBHOOK_CONFIGURATIONS
from tests.builders import a_namespace
from tests.e2e.processes import STARTED, Operator, Process
from tests.hostile import innocent
from tests.hostile.cleaning import HOSTILE, clean_by_force
from tests.servers import free_port, redis_command, running

OPEN_FILES = 512
"""The operator's limit of descriptors: low, so that using them up is cheap."""
LEASE = {
    "KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION": "6s",
    "KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE": "4s",
    "KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD": "1s",
}
POD_NAME = "operator-0"


def _secret() -> str:
    return f"secret-{uuid4().hex}"


def _service_account_token() -> str:
    """As a real one looks to those who cannot check its signature."""
    claims = b'{"sub":"system:serviceaccount:keda:keda-operator"}'
    return f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.{_secret()}"


@dataclass
class Installation:
    """`vault_token` and `token`, of a ServiceAccount, are the operator's own. `sound` False: the next trial is to get another operator process."""

    folder: Path
    kubeconfig: Path
    operator: Operator
    sources: innocent.Sources
    webhook: int = field(default_factory=free_port)
    vault_token: str = field(default_factory=_secret)
    token: str = field(default_factory=_service_account_token)
    sound: bool = True

    @property
    def process(self) -> Process:
        assert self.operator.process is not None
        return self.operator.process

    @property
    def secrets(self) -> dict[str, str]:
        """What the hostile tenant must not get, by name."""
        return {
            "the innocent tenant's API key": self.sources.api_key,
            "the innocent tenant's Redis password": self.sources.redis_password,
            "the operator's Vault token": self.vault_token,
            "the operator's ServiceAccount token": self.token,
        }

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    def open(self) -> KubeClient:
        """A client of the cluster's administrator."""
        return KubeClient(SystemClock(), str(self.kubeconfig))

    async def start(self) -> None:
        """Start the operator, and return once it works; no webhook keeps hostile objects from it."""
        webhook = f"--webhook-port={self.webhook}", "--enable-webhook-patching=false"
        flags = (*webhook, "--leader-elect", "--zap-encoder=json")
        self.token_file.write_text(self.token)
        env = LEASE | {"POD_NAME": POD_NAME, "VAULT_TOKEN": self.vault_token}
        env |= {"AZURE_FEDERATED_TOKEN_FILE": str(self.token_file), "AZURE_CLIENT_ID": "a", "AZURE_TENANT_ID": "b"}
        process = self.operator.begin(*flags, env=env)
        # Python starts for a while before the operator asks what it may have.
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        await asyncio.to_thread(process.wait_for, STARTED)
        async with self.open() as client:
            with suppress(NotFound):
                await client.delete(VALIDATING_WEBHOOK_CONFIGURATIONS.named("", "keda-admission"))
            await innocent.ready(client)
        self.sound = True

    async def restart(self) -> None:
        """A fresh process, with nothing in its memory of what was before."""
        if self.operator.alive:
            await asyncio.to_thread(self.operator.kill)
        async with self.open() as client:
            await clean_by_force(client)
        await self.start()

    async def populate(self) -> None:
        """Namespaces, and the innocent tenant's objects."""
        async with self.open() as client:
            for name in (innocent.NAMESPACE, HOSTILE):
                await client.create(NAMESPACES, a_namespace(name))
            for kind, body in innocent.manifests(self.sources):
                body["metadata"]["namespace"] = innocent.NAMESPACE
                await client.create(kind, body)


@contextmanager
def build_installation(folder: Path) -> Iterator[Installation]:
    """Everything, at work. Skips where redis-server is missing."""
    sources = innocent.Sources(witness=free_port(), api_key=_secret(), redis=free_port(), redis_password=_secret())
    kubeconfig = folder / "kubeconfig"
    one = Installation(folder=folder, kubeconfig=kubeconfig, operator=Operator(kubeconfig), sources=sources)
    redis = redis_command(sources.redis, folder, "--requirepass", sources.redis_password)
    witness = [str(sources.witness), str(one.operator.health), sources.api_key]
    with ExitStack() as stack:
        stack.enter_context(running(redis, sources.redis, folder / "redis.log"))
        command = [sys.executable, "-m", "tests.hostile.witness", *witness]
        stack.enter_context(running(command, sources.witness, folder / "witness.log"))
        local = Process(["local", "--no-operator", f"--kubeconfig={kubeconfig}"])
        stack.callback(local.end)
        local.wait_for("embedded cluster is ready")
        asyncio.run(one.populate())
        stack.callback(one.operator.end)
        asyncio.run(one.start())
        yield one
