"""Libraries of a trigger type are imported when its first trigger opens: an operator without it pays nothing."""

import subprocess
import sys

OPTIONAL = (
    "aiokafka",
    "aiomysql",
    "asyncpg",
    "azure",
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
print(*(name for name in {OPTIONAL!r} if name in sys.modules))
"""


def test_no_library_of_an_extra_is_imported_by_looking_at_the_types() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.split() == []
