"""`status`: what we know of it, and the smallest patch that brings it to what it should be.

A status is written only when something observable changed. Our own view runs ahead of the watch: after a write it is
what the API server answered, until the cache shows that version or a later one.
"""

import logging
from collections.abc import Mapping
from typing import Any

from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.kube.status import patch_status
from keda_py.operator.state import ObjectState

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes `/status` of ScaledObjects."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._pruned = False

    async def write(self, state: ObjectState, wanted: Mapping[str, Any]) -> bool:
        """Bring the fields named in `wanted` to that value, None removes one. True when a request was needed."""
        merged = {**state.status, **wanted}
        status = {name: value for name, value in merged.items() if value is not None and not self._drops(name)}
        namespace, name = state.key
        seen = {"metadata": {"namespace": namespace, "name": name, "uid": state.uid}, "status": dict(state.status)}
        live = await patch_status(self._client, SCALED_OBJECTS, seen, status)
        if live is None:
            return False
        state.remember(live)
        if "kedaPy" in status and "kedaPy" not in (live.get("status") or {}):
            self._pruned = True
            log.warning("the installed crd drops status.kedaPy; apply `keda-py crds` to see reasons in the status")
        return True

    def _drops(self, name: str) -> bool:
        return self._pruned and name == "kedaPy"
