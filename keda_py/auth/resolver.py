"""What a trigger is given besides its own metadata: the contract between the engine and whatever resolves it."""

from dataclasses import dataclass, field
from typing import Protocol

from keda_py.core.spec import TriggersSpec
from keda_py.net.secret_texts import Secrets
from keda_py.sdk.scaler_context import PodIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The environment of the target's container and the parameters of the TriggerAuthentication, by name."""

    env: Secrets = field(default_factory=dict)
    auth: Secrets = field(default_factory=dict)
    pod_identity: PodIdentity = field(default_factory=PodIdentity)


class Resolver(Protocol):
    """Finds environment and authentication parameters of one trigger."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        """Current values. Raises ConfigError for what the user must fix, KubeError where it cannot be known now."""
        ...


class NothingResolved:
    """The resolver of a process without authentication: triggers have their own metadata, no more."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        """Nothing."""
        return Resolved()
