"""The changes in a status that is kept: the same as those that came, in a fraction of their room."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from keda_py.apis.squeezed import LONG, SHORT, pack, unpack
from keda_py.clock import SystemClock
from keda_py.core.decision import Reason
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer_spec import Pool
from keda_py.kube.status import list_in, packed
from keda_py.operator.cluster.caches import keep_scaled_object
from keda_py.operator.decisions.history import HISTORY, DecisionHistory, is_same_history, read_history, with_entry
from keda_py.operator.decisions.record import Entry, TriggerNote
from keda_py.operator.scaled_jobs.caches import JobCaches
from tests.kube.faulty_server import write_kubeconfig

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WOKE = {
    "time": "2026-11-20T12:00:00Z",
    "reason": "Activated",
    "triggers": [{"metric": "s0-redis", "active": True, "value": 3}],
    "replicas": {"before": 0, "after": 1},
}
LIVE = {
    "metadata": {"name": "app", "namespace": "shop", "managedFields": [{"manager": "kubectl"}]},
    "status": {"hpaName": "keda-hpa-app", HISTORY: [WOKE] * 20},
}


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def test_a_status_that_is_kept_holds_its_changes_packed_and_tells_the_same() -> None:
    kept = packed(LIVE, HISTORY)["status"]
    assert kept["hpaName"] == "keda-hpa-app"
    assert len(kept[HISTORY]) < 300
    assert list_in(kept, HISTORY) == list_in(LIVE["status"], HISTORY) == [WOKE] * 20
    assert read_history(kept) == read_history(LIVE["status"]) == (WOKE,) * 20
    live = {"status": kept}
    assert packed(live, HISTORY) is live


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 9, 100, 120, 2000])
def test_short_and_long_lists_are_unpacked_as_they_were_packed(count: int) -> None:
    changes = [{**WOKE, "reason": f"reason {number}"} for number in range(count)]
    assert unpack(pack(changes)) == changes
    text = orjson.dumps(changes, option=orjson.OPT_SORT_KEYS)
    assert (len(pack(changes)) < len(text) / 2) == (SHORT < len(text) <= LONG)


def test_a_megabyte_that_another_client_wrote_is_neither_compressed_nor_taken_for_ours() -> None:
    noise = [{"time": random.Random(1).randbytes(2**20).hex()}]
    assert pack(noise) == orjson.dumps(noise)
    assert not is_same_history(DecisionHistory(packed=pack(noise)), pack(noise))


@pytest.mark.parametrize("junk", [None, "Activated", 5, {"reason": "Activated"}])
def test_what_is_no_list_is_kept_as_it_came_and_tells_nothing(junk: object) -> None:
    assert packed({"status": {HISTORY: junk}}, HISTORY) == {"status": {HISTORY: junk}}
    assert list_in({HISTORY: junk}, HISTORY) == []


def test_what_is_nested_too_deep_to_be_written_again_is_left_out_alone() -> None:
    live = {"status": {"hpaName": "keda-hpa-app", HISTORY: nested(500)}}
    assert packed(live, HISTORY) == {"status": {"hpaName": "keda-hpa-app"}}


def test_both_caches_keep_changes_packed_and_no_managed_fields(tmp_path: Path) -> None:
    client = KubeClient(SystemClock(), write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1"))
    of_job = JobCaches(client, ()).scaled_jobs.spec.ingest(LIVE)
    for kept in (keep_scaled_object(LIVE, Pool()), of_job or {}):
        assert kept["status"][HISTORY] == pack([WOKE] * 20)
        assert "managedFields" not in kept["metadata"]
    assert "status" not in keep_scaled_object({"metadata": {"name": "app"}}, Pool())


def test_a_history_is_told_already_where_the_api_server_wrote_its_numbers_in_another_way() -> None:
    trigger = TriggerNote(metric="s0-redis", value=3.0, active=True)
    woke = Entry(at=NOON, reason=Reason.ACTIVATED, before=0, after=1, triggers=(trigger,))
    history = with_entry(DecisionHistory(), woke, timedelta(hours=24))
    told = pack([WOKE])
    assert told != history.packed
    assert is_same_history(history, told)
    later = with_entry(history, replace(woke, reason=Reason.ACTIVE, before=1), timedelta(hours=24))
    assert not is_same_history(later, told)
    assert not is_same_history(history, None)
