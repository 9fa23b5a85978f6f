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
