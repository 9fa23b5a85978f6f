"""Manifests as people and machines get them wrong: from the CRDs' schemas, and the recorded inputs, mutated."""

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from keda_py.sdk.registry import scaler_class, trigger_types
from keda_py.validation.schemas import our_kinds
from tests.documents import read_file
from tests.places import GOLDEN

RECORDED = GOLDEN / "scaledobjects"
Obj = dict[str, Any]

WORDS = [
    *("", " ", "lots", "5", "0", "-1", "1e400", "0.5", "NaN", "99999999999999999999", "1_000", "0x10", "true", "T", "yes"),
    *("60", "500m", "1Gi", "1m30s", "100000h", "-5s", "AverageValue", "Utilization", "Value", "cpu", "web", "a.b/c", "a b"),
    *("* * * * *", "0 8 * * 1-5", "61 25 * * *", "0 9-9 * * *", "@daily", "UTC", "Asia/Seoul", "Mars/Olympus", "../../x"),
    *("jobs", "jobs +* 2", "float(jobs)", "jobs ?? 1", "max([jobs, 2])", "2 ** 9999", "1..9999999", '"a" * 9', "((((1))))"),
    *("http://127.0.0.1:1", "https://[::1", "127.0.0.1:6379", "a:b:c", "{{ .Values.x }}", "%s", "\n", "\u0000", "😀", "x" * 70),
    *("default", "custom", "static", "currentReplicas", "scalingModifiers", "2026-11-21T05:56:00Z", "(((((", "[a-z", "(a+)+$"),
]  # fmt: skip
texts = st.sampled_from(WORDS) | st.text(max_size=8).filter(str.isprintable)
numbers = st.sampled_from([-1, 0, 1, 2, 5, 100, 2**31 - 1, 2**31, 2**63, 2**70, 0.5, 1e300])
leaves = texts | numbers | st.booleans() | st.none()
junk = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2), max_leaves=4
)


def mostly(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Now and then something that the schema does not allow."""
    return st.integers(0, 299).flatmap(lambda die: junk if die == 0 else value)


_MADE: dict[int, tuple[Obj, st.SearchStrategy[Any]]] = {}
"""By the identity of a schema, which stays as long as its strategy."""


def of_schema(schema: Obj) -> st.SearchStrategy[Any]:
    """What the schema allows, mostly; made once for each."""
    if id(schema) not in _MADE:
        _MADE[id(schema)] = schema, _of_schema(schema)
    return _MADE[id(schema)][1]


def _of_schema(schema: Obj) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return mostly(st.sampled_from(schema["enum"]))
    match schema.get("type"):
        case "string":
            return mostly(texts)
        case "integer":
            low = schema.get("minimum", -1)
            return mostly(st.integers(low, low + 9) | st.just(2**31 - 1))
        case "number":
            return mostly(st.floats(allow_nan=False))
        case "boolean":
            return mostly(st.booleans())
        case "array":
            return mostly(st.lists(of_schema(schema["items"]), min_size=schema.get("minItems", 0), max_size=3))
        case "object":
            return mostly(_object(schema))
        case _:
            return junk


def _object(schema: Obj) -> st.SearchStrategy[Any]:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    if {"type", "metadata"} <= properties.keys() and "authenticationRef" in properties:
        return triggers()
    if not properties:
        return st.dictionaries(texts, of_schema(others) if isinstance(others, dict) else junk, max_size=3)
    required = set(schema.get("required") or ())
    needed = {name: _lazy(shape) for name, shape in properties.items() if name in required}
    return st.fixed_dictionaries(needed, optional={n: _lazy(s) for n, s in properties.items() if n not in required})


def _lazy(schema: Obj) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: of_schema(schema))


@st.composite
def triggers(draw: st.DrawFn) -> Obj:
    """A trigger whose keys its scaler mostly knows."""
    kind = draw(st.sampled_from([*trigger_types(), "no-such-scaler"]))
    names = ["listNmae", "value"]
    if kind in trigger_types():
        names += [name for key in scaler_class(kind).metadata_model.declared_keys() for name in key.names]
    trigger: Obj = {"type": kind, "metadata": draw(st.dictionaries(st.sampled_from(names), texts, max_size=8))}
    for field, values in (
        ("name", st.sampled_from(["jobs", "", "cpu", "a-b"])),
        ("metricType", texts),
        ("useCachedMetrics", st.booleans()),
        ("authenticationRef", st.fixed_dictionaries({"name": texts})),
    ):
        if draw(st.integers(0, 3)) == 0:
            trigger[field] = draw(mostly(values))
    return trigger


@st.composite
def generated(draw: st.DrawFn) -> Obj:
    """An object of one of our kinds, by its schema."""
    api_version, kind = draw(st.just(SCALED_OBJECT) | st.sampled_from(sorted(our_kinds())))
    meta = {"name": draw(st.sampled_from(["web", "a", "x" * 60, "Not Valid"]))}
    if draw(st.booleans()):
        meta["annotations"] = draw(mostly(st.dictionaries(st.sampled_from(ANNOTATIONS), texts, max_size=3)))
    spec = draw(of_schema(our_kinds()[api_version, kind]["properties"]["spec"]))
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


SCALED_OBJECT = ("keda.sh/v1alpha1", "ScaledObject")
ANNOTATIONS = [
    "autoscaling.keda.sh/paused",
    "autoscaling.keda.sh/paused-replicas",
    "autoscaling.keda.sh/paused-scale-in",
    "scaledobject.keda.sh/transfer-hpa-ownership",
    "scaledobject.keda.sh/hpa-excluded-labels",
]


@cache
def recorded() -> list[Obj]:
    return [read_file(path)["input"] for path in sorted(RECORDED.glob("*.yaml"))]


@st.composite
def mutated(draw: st.DrawFn) -> Obj:
    """A recorded input with one to four changes anywhere below its head."""
    body: Obj = copy.deepcopy(draw(st.sampled_from(recorded())))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3, 4]))):
        _mutate(draw, body)
    return body


def _mutate(draw: st.DrawFn, body: Obj) -> None:
    places = [place for part in ("spec", "metadata") for place in _places(body, part)]
    leaves_only = [(parent, key) for parent, key in places if isinstance(parent[key], str | int)]
    if leaves_only and draw(st.integers(0, 9)) < 7:
        parent, key = draw(st.sampled_from(leaves_only))
        parent[key] = draw(texts if isinstance(parent[key], str) else st.integers(0, 9))
        return
    parent, key = draw(st.sampled_from(places))
    match draw(st.sampled_from(["replace", "remove", "rename", "wrap"])):
        case "remove" if parent is not body:
            del parent[key]
        case "rename" if isinstance(parent, dict) and parent is not body:
            parent[draw(texts)] = parent.pop(key)
        case "wrap":
            parent[key] = draw(st.sampled_from([[parent[key]], {"x": parent[key]}]))
        case _:
            parent[key] = draw(junk)


def _places(parent: Any, key: Any) -> list[tuple[Any, Any]]:
    found, value = [(parent, key)], parent.get(key) if isinstance(parent, dict) else parent[key]
    if isinstance(value, dict):
        for name in value:
            found += _places(value, name)
    elif isinstance(value, list):
        for index in range(len(value)):
            found += _places(value, index)
    return found
