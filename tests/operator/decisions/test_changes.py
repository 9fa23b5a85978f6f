"""The store of changes behind the decision record: the same as plain lists, in a fraction of their room."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.decisions.changes import BLOCK, Changes
from tests.costs import bytes_kept_by

EACH, MOST = 5, 12
LINE = (
    b'{"time":"2026-11-20T12:00:%02dZ","reason":"Activated","triggers":[{"metric":"s0-redis-jobs","value":%d,'
    b'"active":true}],"replicas":{"before":0,"after":1},"cooldownLeftSeconds":300.0}'
)


def key(name: str) -> ObjectKey:
    return ObjectKey("ScaledObject", "shop", name)


STEPS = st.tuples(st.sampled_from("abcd"), st.sampled_from(("add", "add", "add", "long", "forget")))


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=120))
def test_what_is_kept_is_the_newest_of_each_and_of_all_whatever_was_added_and_forgotten(
    steps: list[tuple[str, str]],
) -> None:
    changes, known = Changes(EACH, MOST), list[tuple[str, Any]]()
    for number, (name, step) in enumerate(steps):
        if step == "forget":
            changes.forget(key(name))
            known = [one for one in known if one[0] != name]
            continue
        change = orjson.loads(LINE % (number % 60, number)) | {"error": "x" * (BLOCK // 3) if step == "long" else ""}
        changes.add(key(name), orjson.dumps(change))
        known.append((name, change))
        own = [one for one in known if one[0] == name]
        if len(own) > EACH:
            known.remove(own[0])
        del known[:-MOST]
    for name in "abcd":
        assert changes.of(key(name)) == [change for owner, change in known if owner == name]
    assert len(changes) == len(known)


def test_an_object_that_changes_for_ever_takes_no_more_room_for_it() -> None:
    changes = Changes(EACH, MOST)

    def fill() -> None:
        for number in range(2000):
            changes.add(key("a"), LINE % (number % 60, number))

    fill()
    assert bytes_kept_by(fill) < 2000
    assert len(changes) == EACH


def test_a_change_of_an_object_that_has_ten_takes_a_fraction_of_its_text() -> None:
    changes, objects = Changes(50, 20_000), [key(f"d{number}") for number in range(100)]

    def fill() -> None:
        for number in range(10):
            for one in objects:
                changes.add(one, LINE % (number, number))

    assert bytes_kept_by(fill) / 1000 < len(LINE) / 2
