"""A status as the fields of a write: every field is named, so that what no longer holds is taken away."""

from typing import Any

from pydantic import BaseModel


def fields_of(model: type[BaseModel], status: BaseModel) -> dict[str, Any]:
    """By its name on the wire; None takes a field away. What is as if left out is left out."""
    dumped = status.model_dump(by_alias=True, exclude_defaults=True)
    return {info.alias or name: dumped.get(info.alias or name) for name, info in model.model_fields.items()}
