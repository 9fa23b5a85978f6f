"""Contract between the engine and the resolver of a trigger's environment and parameters."""

from dataclasses import dataclass, field
from typing import Protocol

from keda_py.core.spec import TriggersSpec
from keda_py.net.secret_texts import Secrets
from keda_py.sdk.scaler_context import PodIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Environment of the target's container and parameters of the TriggerAuthentication, by name."""

    env: Secrets = field(default_factory=dict)
    auth: Secrets = field(default_factory=dict)
    pod_identity: PodIdentity = field(default_factory=PodIdentity)


class Resolver(Protocol):
    """Finder of environment and authentication parameters of one trigger."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        """Resolve the current values. Raises ConfigError for users' errors, KubeError if a value is unknown now."""
        ...


class NothingResolved:
    """Resolver of a process without authentication: triggers have only their own metadata."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        return Resolved()
