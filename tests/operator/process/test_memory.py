"""What an operator's process does without: libraries of others' command lines, and memory that nothing uses."""

import json
import subprocess
import sys

import pytest
from pydantic import BaseModel

LIFE = """
import gc, json, sys
from keda_py.cli.operator import leave_out_unused
leave_out_unused()
import keda_py.operator.app
operator = list(sys.modules)
from scalers.shared.redis import load_library
load_library()
redis = list(sys.modules)
from opentelemetry.sdk.metrics import MeterProvider
from keda_py.operator.process.memory import allocate_sparingly, collect_seldom, collect_young
allocate_sparingly()
collect_seldom()
kept = (gc.get_freeze_count(), gc.get_threshold()[0], gc.get_threshold()[2])
collect_young()
kept = (*kept, gc.get_threshold()[2])
print(json.dumps({"operator": operator, "redis": redis, "afterwards": MeterProvider.__name__, "kept": kept}))
"""


@pytest.fixture(scope="module")
def life() -> dict[str, list[str]]:
    """What a process of its own has imported, first as an operator, then for a trigger; and what it keeps."""
    done = subprocess.run([sys.executable, "-c", LIFE], capture_output=True, text=True, check=True, timeout=240)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("by", "libraries"),
    [
        pytest.param("operator", {"rich", "click", "pygments"}, id="command lines"),
        pytest.param("operator", {"opentelemetry"}, id="telemetry that no flag asks for"),
        pytest.param("redis", {"opentelemetry.sdk.metrics"}, id="telemetry of redis-py"),
    ],
)
def test_a_library_that_is_not_used_is_not_imported(life: dict[str, list[str]], by: str, libraries: set[str]) -> None:
    assert {"operator": "keda_py.operator.app", "redis": "redis"}[by] in life[by]
    assert not libraries & set(life[by])


def test_what_is_left_out_for_redis_can_be_imported_afterwards(life: dict[str, list[str]]) -> None:
    assert life["afterwards"] == "MeterProvider"


def test_what_there_is_at_the_start_is_not_searched_for_garbage(life: dict[str, list[str]]) -> None:
    frozen, threshold, old, bare = map(int, life["kept"])
    assert frozen > 1000
    assert threshold > 10_000
    assert bare >= 100 * old, "a process that keeps JSON alone"


WEBHOOK = """
import json, sys
from keda_py.operator.admission.webhook.__main__ import _leave_out
_leave_out()
import keda_py.operator.admission.webhook.server, keda_py.apis.scaled_object
from pydantic import BaseModel
late = type(sys.modules["pydantic.json_schema"]).__name__
class Plugin(BaseModel):
    queue: str = "jobs"
first = Plugin.model_json_schema()
from pydantic import TypeAdapter
from pydantic.json_schema import SkipJsonSchema
print(json.dumps([late, first, Plugin.model_json_schema(), TypeAdapter(int).json_schema(), SkipJsonSchema.__name__]))
"""


def test_a_plugin_in_the_webhook_process_can_make_the_json_schemas_that_the_process_itself_leaves_out() -> None:
    done = subprocess.run([sys.executable, "-c", WEBHOOK], capture_output=True, text=True, check=True, timeout=240)
    late, *made = json.loads(done.stdout)

    class Plugin(BaseModel):
        queue: str = "jobs"

    whole = Plugin.model_json_schema()
    assert late == "LateJsonSchemas"
    assert made == [whole, whole, {"type": "integer"}, "SkipJsonSchema"]
