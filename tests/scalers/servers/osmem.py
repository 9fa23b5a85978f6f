"""An osmem: OpenSearch's searches over documents in memory."""

import stat
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.servers import LOOPBACK


def osmem_command(port: int) -> list[str]:
    """Command that starts osmem; the wheel loses the mode of its program."""
    found = find_spec("osmem_server")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs osmem-server: pip install 'keda-py[servers]'")
    command = Path(found.submodule_search_locations[0], "bin", "osmem-server")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return [str(command), "-addr", f"{LOOPBACK}:{port}", "-no-stdin-watch"]
