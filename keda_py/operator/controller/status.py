"""`status`: what we know of it, and the smallest patch that brings it to what it should be.

A status is written only when something observable changed. Our own view runs ahead of the watch: after a write it is
what the API server answered, until the cache shows that version or a later one.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from keda_py.kube.client import KubeClient
from keda_py.kube.status import patch_status
from keda_py.operator.controller.state import Remembered

OWN = "kedaPy"

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes `/status` of objects of every kind."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._dropped: defaultdict[str, set[str]] = defaultdict(set)
        """By kind, keys of `status.kedaPy` that the installed CRD does not know: KEDA's own knows none."""

    async def write(self, state: Remembered, wanted: Mapping[str, Any]) -> bool:
        """Bring the fields named in `wanted` to that value, None removes one. True when a request was needed."""
        merged = {**state.status, **wanted, OWN: self._known(state.key.kind, wanted.get(OWN, state.status.get(OWN)))}
        status = {name: value for name, value in merged.items() if value is not None}
        metadata = {"namespace": state.key.namespace, "name": state.key.name, "uid": state.uid}
        seen = {"metadata": metadata, "status": dict(state.status)}
        live = await patch_status(self._client, state.resource, seen, status)
        if live is None:
            return False
        state.remember(live)
        kept = (live.get("status") or {}).get(OWN) or {}
        if dropped := (status.get(OWN) or {}).keys() - kept.keys():
            self._dropped[state.key.kind] |= dropped
            log.warning(
                "the installed crd drops parts of status.kedaPy; apply `keda-py crds`", extra={"parts": sorted(dropped)}
            )
        return True

    def _known(self, kind: str, own: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Without what would be dropped again: it would be sent for ever."""
        dropped = self._dropped[kind]
        return {name: value for name, value in (own or {}).items() if name not in dropped} or None
