"""Trigger metadata: text from a manifest, the target's environment and a TriggerAuthentication, made typed.

Part of the SDK (`keda_py.scaler` re-exports it). Rules: behaviour reference, section 18.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Source = Literal["metadata", "env", "auth"]
META: Source = "metadata"
ENV: Source = "env"
AUTH: Source = "auth"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a field may come from, first non-empty wins."""

    order: tuple[Source, ...]


def sources(*order: Source) -> Sources:
    """Say where a field comes from: `Annotated[SecretStr, sources(AUTH, ENV)]`. Default: the trigger's metadata."""
    return Sources(order)


class TriggerMetadata(BaseModel):
    """Base of every trigger's metadata model; camelCase on the wire, secrets as SecretStr."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    @classmethod
    def parse(cls, metadata: Mapping[str, str], env: Mapping[str, str], auth: Mapping[str, str]) -> Self:
        """Typed metadata. Raises ConfigError that names every wrong key, its value (no secret) and the remedy."""
        raise NotImplementedError
