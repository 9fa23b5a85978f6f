"""What every test, and every process that a test starts, finds around it; and which generated input hypothesis tries."""

import os
from pathlib import Path

from hypothesis import settings

from tests.properties import EXAMPLES, EXPLORED

# Reading the hundred and more authorities of a machine costs each operator 80 ms of CPU, and no test meets a server
# that one of them vouches for: tests trust what they say, and one authority that has signed nothing. It has to be said
# before aiohttp is imported, which reads them then.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authority.pem"))
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "no such folder")

# The same cases on every machine, at every run: a red test is red for everybody. The counts are in `properties.py`.
settings.register_profile("suite", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
# `make fuzz`: other cases each time, ten times as many. What it finds becomes a plain test.
settings.register_profile("fuzz", max_examples=EXPLORED, database=None, deadline=None, print_blob=True)
settings.load_profile("suite")
