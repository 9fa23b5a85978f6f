"""Answers of a cache by index after any sequence of puts, changes and removals."""

from hypothesis import given
from hypothesis import strategies as st

from keda_py.kube.informers.cache import Cache
from keda_py.kube.resources import Obj

NAMES, VALUES = "abcd", "xyz"
Change = tuple[str, frozenset[str] | None]
CHANGES = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.frozensets(st.sampled_from(VALUES))), max_size=20)


def tagged(name: str, version: int, tags: frozenset[str]) -> Obj:
    return {"metadata": {"namespace": "shop", "name": name, "resourceVersion": str(version)}, "tags": sorted(tags)}


@given(changes=CHANGES)
def test_an_index_finds_just_those_that_have_the_value_now(changes: list[Change]) -> None:
    cache, has = Cache({"tag": lambda obj: obj["tags"]}), dict[str, frozenset[str]]()
    for version, (name, tags) in enumerate(changes):
        if tags is None:
            cache.remove(("shop", name))
            has.pop(name, None)
        else:
            cache.put(tagged(name, version, tags))
            has[name] = tags
    found = {value: {obj["metadata"]["name"] for obj in cache.by_index("tag", value)} for value in VALUES}
    assert found == {value: {name for name, tags in has.items() if value in tags} for value in VALUES}


def scaled(version: int, spec: Obj, generation: int = 1, name: str = "app") -> Obj:
    metadata = {"namespace": "shop", "name": name, "resourceVersion": str(version), "generation": generation}
    return {"metadata": metadata, "spec": spec}


def test_a_version_that_has_the_spec_of_the_one_before_shares_it() -> None:
    cache = Cache({})
    for version in (1, 2):
        cache.put(scaled(version, {"triggers": [{"type": "redis"}]}))
        if version == 1:
            (first,) = cache
    (second,) = cache
    assert second["metadata"]["resourceVersion"] == "2"
    assert second["spec"] is first["spec"]


def test_a_spec_that_python_takes_for_equal_is_still_the_one_of_its_version() -> None:
    cache = Cache({})
    cache.put(scaled(1, {"paused": True}, generation=1))
    cache.put(scaled(2, {"paused": 1}, generation=2))
    (found,) = cache
    assert found["spec"]["paused"] is not True


def test_a_spec_that_is_nested_too_deeply_to_be_compared_is_cached_all_the_same() -> None:
    cache = Cache({})
    for version in (1, 2):
        nested: Obj = {}
        for _ in range(5000):
            nested = {"deeper": nested}
        cache.put(scaled(version, nested))
    (found,) = cache
    assert found["metadata"]["resourceVersion"] == "2"
