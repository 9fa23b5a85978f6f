"""What every test, and every process that a test starts, finds around it; and which generated input hypothesis tries."""

import asyncio
import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.patient import PatientLoop
from tests.properties import EXAMPLES, EXPLORED

TESTS = Path(__file__).parent

# Reading the hundred and more authorities of a machine costs each operator 80 ms of CPU, and no test meets a server
# that one of them vouches for: tests trust what they say, and one authority that has signed nothing. It has to be said
# before aiohttp is imported, which reads them then.
os.environ["SSL_CERT_FILE"] = str(TESTS / "authority.pem")
os.environ["SSL_CERT_DIR"] = str(TESTS / "no such folder")

# Six thousand collected tests are garbage never, and looking through them again and again costs a tenth of all CPU.
gc.disable()

# The same cases on every machine, at every run: a red test is red for everybody. The counts are in `properties.py`.
settings.register_profile("suite", max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
# `make fuzz`: other cases each time, ten times as many. What it finds becomes a plain test.
settings.register_profile("fuzz", max_examples=EXPLORED, database=None, deadline=None, print_blob=True)
settings.load_profile("suite")
# What hypothesis tries is made of the numbers and texts of our modules, too, of those that are imported by then: other
# cases in each worker, and three seconds of reading code. There is no setting for it.
providers._get_local_constants = Constants

FIRST = (
    "parity/test_pause", "e2e/test_kill", "operator/standby/test_fail_over", "e2e/test_process",
    "parity/test_ownership", "faults/test_api_server", "charts/test_rights", "e2e/test_polling",
    "operator/scaled_objects/test_life_of_objects", "e2e/test_bad_sources", "operator/process/test_kill",
    "migration/test_check", "e2e/test_activation", "validation/test_fuzz", "serving/test_memory",
    "kube/test_thin_import", "e2e/test_hpa", "operator/test_two_hundred_faults", "examples/test_nightly_scale_down",
    "core/cron/test_cron_walk", "serving/test_https", "e2e/test_cron", "operator/explain/test_insight",
    "charts/test_install", "cli/test_cli", "operator/standby/test_rolling_update", "e2e/test_explain",
    "demo/test_frames", "demo/test_demo_run", "faults/test_meddling", "parity/test_takeover", "examples/test_cron_and_queue",
    "operator/cluster/test_blindness",
)  # fmt: skip
"""The files that take longest, the longest first: begun last, one of them would keep a single worker busy at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of `FIRST` before the others, for `--no-loadscope-reorder`."""
    places = {TESTS / f"{name}.py": place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(FIRST)))


def pytest_collection_finish() -> None:
    """From here on look for garbage, but not among what is there already."""
    gc.freeze()
    gc.enable()


REAL_TIME = (
    TESTS / "e2e",
    TESTS / "hostile",
    TESTS / "operator" / "standby" / "test_fail_over.py",
    TESTS / "operator" / "process" / "test_watchdog.py",
    TESTS / "operator" / "admission" / "webhook",
)
"""Where other processes set the pace, or the loop's own delays are the subject."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of each test."""
    if any(item.path.is_relative_to(place) for place in REAL_TIME):
        return {"real": asyncio.SelectorEventLoop}
    return {"patient": PatientLoop}
