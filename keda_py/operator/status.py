"""`status`: what we know of it, and the smallest patch that brings it to what it should be.

A status is written only when something observable changed. Our own view runs ahead of the watch: after a write it is
what the API server answered, until the cache shows that version or a later one.
"""

import logging
from collections.abc import Mapping
from typing import Any

from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_OBJECTS, Resource
from keda_py.kube.status import patch_status
from keda_py.operator.state import Remembered

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes `/status` of ScaledObjects, or of the kind given."""

    def __init__(self, client: KubeClient, resource: Resource = SCALED_OBJECTS) -> None:
        self._client, self._resource = client, resource
        self._pruned = False

    async def write(self, state: Remembered, wanted: Mapping[str, Any]) -> bool:
        """Bring the fields named in `wanted` to that value, None removes one. True when a request was needed."""
        merged = {**state.status, **wanted}
        status = {name: value for name, value in merged.items() if value is not None and not self._drops(name)}
        namespace, name = state.key
        seen = {"metadata": {"namespace": namespace, "name": name, "uid": state.uid}, "status": dict(state.status)}
        live = await patch_status(self._client, self._resource, seen, status)
        if live is None:
            return False
        state.remember(live)
        if "kedaPy" in status and "kedaPy" not in (live.get("status") or {}):
            self._pruned = True
            log.warning("the installed crd drops status.kedaPy; apply `keda-py crds` to see reasons in the status")
        return True

    def _drops(self, name: str) -> bool:
        return self._pruned and name == "kedaPy"
