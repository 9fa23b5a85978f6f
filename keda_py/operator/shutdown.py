"""The last writes of a process that leaves: when objects were last active, Events still queued, the Lease, CloudEvents.

`app.py` comes here once nothing else is written any more. Where another replica waits for the Lease it gets it
soon: what is not written by then it finds out by itself, and cools down later for it, never earlier.
"""

import asyncio
import logging

from keda_py.operator.assembly import Assembly

FLUSH_SECONDS, HANDOVER_SECONDS = 2.0, 0.5

log = logging.getLogger(__name__)


async def shut_down(assembly: Assembly) -> None:
    """Write what is left if we may, then let the next replica lead; no replica waits for slow receivers of events."""
    rights, events = assembly.rights, assembly.parts.events
    seconds = FLUSH_SECONDS if rights.is_alone else HANDOVER_SECONDS
    try:
        async with asyncio.timeout(seconds):
            if rights.may_tell():
                for controller in assembly.controllers:
                    await controller.flush()
                await events.flush(seconds)
    except TimeoutError:
        log.warning("the last writes did not finish in time", extra={"seconds": seconds})
    await rights.membership.release()
    await rights.election.release()
    await assembly.cloud_events.drain()
