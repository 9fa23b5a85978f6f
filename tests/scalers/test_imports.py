"""Libraries of a trigger type are imported when its first trigger opens: a process without it, or one that only looks
at triggers, as the webhook's, pays nothing.
"""

import subprocess
import sys

LATE = (
    "aiobotocore",
    "aiohttp",
    "aiokafka",
    "aiomysql",
    "asyncpg",
    "azure",
    "botocore",
    "cryptography",
    "google.protobuf",
    "grpc",
    "hpack",
    "pamqp",
    "pymongo",
    "pytds",
    "redis",
)
SCRIPT = f"""
import sys
from keda_py.sdk.registry import scaler_class, trigger_types
for name in trigger_types():
    scaler_class(name)
print(*(name for name in {LATE!r} if name in sys.modules))
"""


def test_no_library_of_a_source_is_imported_by_looking_at_the_types() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.split() == []
