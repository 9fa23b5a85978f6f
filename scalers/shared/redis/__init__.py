"""Connections of the redis family. In: connection keys and commands.

Out: answers of one server, a cluster, or a master.

Next: the trigger types, which make readings of the answers.
"""

import sys

_TELEMETRY = "opentelemetry.sdk.metrics"

if _TELEMETRY not in sys.modules:
    # redis-py imports OpenTelemetry where it is installed, for metrics that are not used here: that costs 2 MB, and
    # blocks the loop while it is imported.
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]  # None: cannot be imported, as Python has it
    try:
        import redis.asyncio  # noqa: F401
    finally:
        del sys.modules[_TELEMETRY]
