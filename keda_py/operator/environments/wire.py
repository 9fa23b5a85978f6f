"""A status as the fields of a patch: every field is named, so that fields that no longer apply are removed."""

from typing import Any

from pydantic import BaseModel


def fields_of(model: type[BaseModel], status: BaseModel) -> dict[str, Any]:
    """Fields by their wire names; None removes a field. A field that equals its absence becomes None."""
    dumped = status.model_dump(by_alias=True, exclude_defaults=True)
    return {info.alias or name: dumped.get(info.alias or name) for name, info in model.model_fields.items()}
