"""Triggers as the engine gives them to scalers, from plain texts."""

from collections.abc import Mapping

from keda_py.sdk.advanced import Trigger
from keda_py.testing import as_secrets


def trigger_of(
    trigger_type: str,
    metadata: Mapping[str, str],
    *,
    env: Mapping[str, str] | None = None,
    auth: Mapping[str, str] | None = None,
) -> Trigger:
    """A trigger with everything resolved."""
    return Trigger(type=trigger_type, metadata=metadata, env=as_secrets(env or {}), auth=as_secrets(auth or {}))
