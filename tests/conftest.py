"""What every test, and every process that a test starts, finds around it."""

import os
from pathlib import Path

# Reading the hundred and more authorities of a machine costs each operator 80 ms of CPU, and no test meets a server
# that one of them vouches for: tests trust what they say, and one authority that has signed nothing. It has to be said
# before aiohttp is imported, which reads them then.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authority.pem"))
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "no such folder")
