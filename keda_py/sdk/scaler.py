"""The SDK for scaler authors: a trigger type is one file with a metadata model and a scaler class.

`examples/custom-scaler` is a whole one. These ten names are enough for a source that is asked by HTTP; `advanced.py`
has what connections of their own, batches, pushes, several metrics and pod identities need.
"""

from typing import TYPE_CHECKING, Any

from keda_py.core.reading import Reading
from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk import advanced
from keda_py.sdk.contract import Scaler
from keda_py.sdk.metadata.marks import AUTH, ENV, Activation, Target, sources
from keda_py.sdk.metadata.model import TriggerMetadata

__all__ = [
    "AUTH",
    "ENV",
    "Activation",
    "ConfigError",
    "Reading",
    "Scaler",
    "ScalerError",
    "Target",
    "TriggerMetadata",
    "sources",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Find the names that were here before `advanced.py` was: scalers of earlier releases import them from here."""
        return getattr(advanced, name)
