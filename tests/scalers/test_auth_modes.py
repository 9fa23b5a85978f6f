"""`authModes`: the same modes make the same headers in each process."""

import os
import subprocess
import sys

import pytest

MAKES = """
from keda_py.net.secret_texts import as_secrets
from scalers.prometheus import PrometheusMetadata
from scalers.shared.auth_modes import auth_headers

metadata = {"serverAddress": "http://x", "query": "q", "threshold": "1", "authModes": "basic,custom"}
own = {"customAuthHeader": "Authorization", "customAuthValue": "own"}
parsed = PrometheusMetadata.parse(metadata, as_secrets({}), as_secrets({"username": "u", "password": "p", **own}))
print(auth_headers(parsed, frozenset({"basic", "custom", "bearer", "apiKey"})))
"""


@pytest.mark.parametrize("seed", ["0", "3"])
def test_a_header_of_ones_own_goes_before_that_of_another_mode_however_texts_are_hashed(seed: str) -> None:
    made = subprocess.run(
        [sys.executable, "-c", MAKES],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert made.stdout.strip() == "{'Authorization': 'own'}"
