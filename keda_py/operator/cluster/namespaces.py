"""Which namespaces are on their way out: nothing new may be written there, not even an Event.

Asked only where something has been deleted, so a read every second or so is cheaper than a watch of all namespaces,
which the operator may not be allowed.
"""

import asyncio

from keda_py.errors import KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES

BELIEVED_SECONDS = 1.0


class Namespaces:
    """Answers are believed for a second, on the loop's time; who asks meanwhile waits for the same answer."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._asked: dict[str, tuple[float, bool]] = {}
        self._asking = asyncio.Lock()

    async def is_terminating(self, name: str) -> bool:
        """Is it being deleted, or gone? False where that cannot be read: a write is then refused, no harm done."""
        # Held during the request: other callers wait for this answer, so that a namespace with a thousand deleted
        # objects costs one read a second.
        async with self._asking:
            now = asyncio.get_running_loop().time()
            at, answer = self._asked.get(name, (float("-inf"), False))
            if now - at >= BELIEVED_SECONDS:
                self._asked = {known: one for known, one in self._asked.items() if now - one[0] < BELIEVED_SECONDS}
                answer = await self._ask(name)
                self._asked[name] = (now, answer)
            return answer

    async def _ask(self, name: str) -> bool:
        try:
            live = await self._client.get(NAMESPACES.named("", name))
        except NotFound:
            return True
        except KubeError:
            return False
        return bool(live["metadata"].get("deletionTimestamp"))
