"""Connections of the redis family. In: connection keys and commands.

Out: answers of one server, a cluster, or a master.

Next: the trigger types, which make readings of the answers.
"""

import sys

_TELEMETRY = "opentelemetry.sdk.metrics"


def load_library() -> None:
    """Import redis-py, at the first trigger that is opened: it takes 9 MB, and a trigger is also judged without it.

    redis-py imports OpenTelemetry where it is installed, for metrics that are not used here: that costs 2 MB more.
    """
    if _TELEMETRY in sys.modules or "redis.asyncio" in sys.modules:
        return
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]  # None: cannot be imported, as Python has it
    try:
        import redis.asyncio  # noqa: F401
    finally:
        del sys.modules[_TELEMETRY]
