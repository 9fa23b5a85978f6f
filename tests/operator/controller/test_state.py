"""What is remembered of an object while the cache has newer ones of it."""

import gc

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.state import Due
from keda_py.operator.scaled_objects.state import ObjectState

KEY = ObjectKey("ScaledObject", "shop", "orders")


def version(number: int, generation: int = 1) -> Obj:
    metadata = {"namespace": "shop", "name": "orders", "uid": "u", "resourceVersion": str(number)}
    return {"metadata": metadata | {"generation": generation}, "status": {"seen": number}}


def remembered() -> ObjectState:
    return ObjectState(resource=SCALED_OBJECTS, key=KEY, uid="u")


async def test_no_object_is_held_beside_the_cache() -> None:
    state, live = remembered(), version(1)
    state.follow(None, live)
    state.begin(live)
    state.reconciled.finish(live)
    assert state.reconciled.matches(live)
    assert not any(held is live for held in gc.get_referents(state))
    state.follow(live, version(2))
    assert not any(held is live["status"] for held in gc.get_referents(state))


def test_a_newer_version_is_reconciled_where_nothing_that_matters_has_changed() -> None:
    state = remembered()
    state.reconciled.finish(version(1))
    assert state.reconciled.matches(version(1))
    assert state.reconciled.matches(version(2))
    assert not state.reconciled.matches(version(3, generation=2))
    assert state.reconciled.matches(version(4))


async def test_the_journal_calls_a_new_spec_by_another_name() -> None:
    state = remembered()
    first, same, other = state.begin(version(1)), state.begin(version(2)), state.begin(version(3, generation=2))
    assert first == same != other


def test_the_answer_to_a_write_is_taken_until_the_cache_has_its_version() -> None:
    state, answer, watched = remembered(), version(2), version(2)
    state.follow(None, version(1))
    state.remember(answer)
    assert state.stored is answer["status"]
    state.follow(version(1), watched)
    assert state.stored is watched["status"]
    state.remember(answer)
    assert state.stored is watched["status"]
    state.remember(version(1))
    assert state.stored is watched["status"]


def test_where_versions_are_no_numbers_the_last_one_heard_of_counts() -> None:
    state, answer, watched = remembered(), version(1), version(1)
    for live, name in ((answer, "b"), (watched, "c")):
        live["metadata"]["resourceVersion"] = name
    state.follow(None, version(0))
    state.remember(answer)
    assert state.stored is answer["status"]
    state.follow(None, watched)
    assert state.stored is watched["status"]


def test_a_look_is_as_late_as_it_begins_after_its_time_and_not_late_before() -> None:
    due = Due()
    assert due.begin_look(now=100.0) is None  # nothing was planned
    due.look_at(130.0)
    assert due.begin_look(now=130.5) == 0.5
    due.look_at(160.0)
    due.look_now()  # another object's poll has answered this one's, too
    assert due.is_due(150.0)
    assert due.begin_look(now=150.0) == 0.0
    due.look_at(180.0)
    due.look_now()
    assert due.begin_look(now=183.0) == 3.0
    due.look_now()
    assert due.begin_look(now=184.0) is None
