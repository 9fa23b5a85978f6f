"""Equal pieces of objects are in a cache once, and no piece is confused with another."""

import orjson

from keda_py.kube.informers.informer_spec import LONGEST, Pool
from keda_py.operator.cluster.caches import keep_scaled_object, keep_workload
from tests.builders import bare_scaled_object, cron, deployment


def copy(value):
    return orjson.loads(orjson.dumps(value))


def test_equal_pieces_are_one() -> None:
    alike, piece = Pool(), {"type": "Ready", "status": "True", "more": [{"a": 1}]}
    assert alike.piece(copy(piece)) is alike.piece(copy(piece))
    assert alike.piece(piece) == piece


def test_what_is_equal_for_python_alone_stays_different() -> None:
    alike = Pool()
    assert [type(alike.piece({"n": n})["n"]) for n in (1, True, 1.0)] == [int, bool, float]
    assert list(alike.piece({"a": 1, "b": 2})) != list(alike.piece({"b": 2, "a": 1}))


def test_a_text_is_never_taken_for_a_piece_that_is_written_alike() -> None:
    alike, piece = Pool(), {"containers": []}
    alike.piece(piece)
    assert alike.text(orjson.dumps(piece)) == orjson.dumps(piece)


def test_no_more_than_so_many_are_remembered_and_none_that_is_long() -> None:
    alike = Pool(most=3)
    for number in range(10):
        alike.piece({"n": number})
    assert len(alike) <= 3
    long = {"text": "x" * LONGEST}
    assert alike.piece(long) is long
    assert len(alike) <= 3


def test_a_piece_that_is_nested_too_deep_to_be_written_is_left_as_it_is() -> None:
    deep: list[object] = []
    for _ in range(400):
        deep = [deep]
    assert Pool().piece(deep) is deep


def test_objects_share_their_conditions_and_keep_no_managed_fields() -> None:
    alike = Pool()
    ready = {"type": "Ready", "status": "True", "reason": "ScaledObjectReady", "message": "is ready"}
    found = []
    for name in ("a", "b"):
        live = bare_scaled_object(cron("0 0 * * *", "1 0 * * *", desired=1), name=name)
        live["metadata"]["managedFields"] = [{"manager": "kubectl"}]
        live["status"] = {"conditions": [copy(ready)], "scaleTargetGVKR": {"group": "apps"}, "hpaName": name}
        before = copy(live)
        found.append(keep_scaled_object(live, alike))
        assert live == before  # the received object is unchanged
        del before["metadata"]["managedFields"]
        assert found[-1] == before
    one, other = (kept["status"] for kept in found)
    assert one["conditions"][0] is other["conditions"][0]
    assert one["scaleTargetGVKR"] is other["scaleTargetGVKR"]


def test_workloads_share_what_their_containers_ask_for() -> None:
    alike = Pool()
    one, other = (keep_workload(copy(deployment(name)), alike) for name in ("a", "b"))
    assert one["spec"]["template"] is other["spec"]["template"]
