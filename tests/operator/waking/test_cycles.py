"""Sleeping and waking under constant load, with a waker and the leader taken away: no request is lost.

`python -m tests.bench waker --cycles 1000` does it for hours.
"""

from pathlib import Path

from tests.http_server import HttpServer
from tests.operator.waking.soak import soak
from tests.sweeps import size

CYCLES = size(4, 3)


async def test_no_request_is_lost_and_none_passes_through_us_while_it_is_awake(
    tmp_path: Path, server: HttpServer
) -> None:
    found = await soak(tmp_path, server, CYCLES, seed=30)
    assert found.answers.keys() == {"200"}, f"{found}; see {tmp_path}/timeline.txt"
    assert (found.refused, found.through_after) == (0, 0), f"see {tmp_path}/timeline.txt"
    assert found.held > 0
