"""Checkpoints of consumers of an event hub: a blob for each partition, in one of several forms.

In: which hub, group and form. Out: for a partition a path, and the sequence number that the blob there holds.
"""

from dataclasses import dataclass
from typing import Final

import httpx
import orjson

from keda_py.core.documents.json_guard import check_json
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import ScalerError

_OF_FUNCTIONS: Final = "azure-webjobs-eventhub"
_IN_METADATA: Final = "x-ms-meta-sequencenumber"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """`strategy` is KEDA's word; one that it does not know is the form of older libraries."""

    strategy: str
    container: str
    namespace: str
    hub: str
    group: str

    def path(self, partition: str) -> str:
        """Container and blob."""
        hub = f"{self.namespace}/{self.hub}"
        match self.strategy:
            case "goSdk":
                return f"{self.container}/{partition}"
            case "blobMetadata":
                return f"{self.container}/{hub}/{self.group.lower()}/checkpoint/{partition}"
            case "dapr":
                return f"{self.container}/dapr-{self.hub}-{self.group}-{partition}"
            case strategy if strategy == "azureFunction" or not self.container:
                return f"{_OF_FUNCTIONS}/{hub}/{self.group}/{partition}"
            case _:
                return f"{self.container}/{self.group}/{partition}"

    def sequence_number(self, blob: httpx.Response) -> int:
        """The last event that was processed. Raises ScalerError."""
        if self.strategy == "blobMetadata" or (not blob.content and _IN_METADATA in blob.headers):
            return _number(blob.headers.get(_IN_METADATA))
        document = _document(blob.content)
        if self.strategy in ("goSdk", "dapr"):
            inner = document.get("checkpoint")
            return _number(inner.get("sequenceNumber") if isinstance(inner, dict) else None)
        return _number(document.get("SequenceNumber", document.get("sequence_number")))


def _document(content: bytes) -> dict[str, object]:
    try:
        check_json(content)
        document = orjson.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ScalerError("the checkpoint is not a JSON object: is checkpointStrategy that of the consumer?")
    return document


def _number(found: object) -> int:
    try:
        if isinstance(found, str):
            return parse_int(found)
    except ValueError:
        found = None
    if isinstance(found, bool) or not isinstance(found, int):
        raise ScalerError("the checkpoint has no sequence number: is checkpointStrategy that of the consumer?")
    return found
