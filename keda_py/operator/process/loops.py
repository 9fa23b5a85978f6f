"""The event loop of every process of the operator: uvloop's where it is installed (extra `all`), else asyncio's."""

import asyncio
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """For `asyncio.Runner`; None means asyncio's own loop."""
    try:
        import uvloop  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop
