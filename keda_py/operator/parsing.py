"""A ScaledObject from the cache -> its typed form, with every wrong field named in plain words."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from keda_py.apis.scaled_object import ScaledObject
from keda_py.errors import ConfigError


def parse_scaled_object(live: Mapping[str, Any]) -> ScaledObject:
    """Raises ConfigError: `spec.cooldownPeriod: Input should be a valid integer`; the values are not repeated."""
    try:
        return ScaledObject.model_validate(live)
    except ValidationError as error:
        wrong = [f"{_path(entry['loc'])}: {entry['msg']}" for entry in error.errors(include_input=False)]
        raise ConfigError("; ".join(wrong)) from None


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
