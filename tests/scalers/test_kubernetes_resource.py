"""`kubernetes-resource` over objects of a cluster in memory."""

import base64
from typing import Any

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.scaler import Reading
from keda_py.testing import Objects, config_map, secret, shared_context
from tests.scalers.conftest import Bench

DATA = {
    "number": " 7.5\n",
    "quantity": "2k",
    "whole": "12",
    "json": '{"queues":[{"depth":3},{"depth":"1500m"}],"ratio":2.5,"third":"0.3333","flag":true}',
    "yaml": "queues:\n- depth: 3\n- depth: 1500m\nratio: 2.5\nflag: true\n",
    "text": "hunter2",
    "nan": "NaN",
    "infinity": "-Inf",
    "huge": "1e400",
    "huge json": '{"number":1e400,"text":"1e400"}',
    "huge yaml": "number: 1.0e+400\ntext: 1e400\n",
}
OBJECTS = Objects(
    configmaps=[config_map("depths", DATA)],
    secrets=[secret("depths", {key: base64.b64encode(text.encode()).decode() for key, text in DATA.items()})],
)
OBJECTS.by_resource["secrets"].append(secret("odd", {"bytes": "//79", "no-base64": "!"}))


def at(key: str, kind: str = "ConfigMap", **metadata: str) -> dict[str, str]:
    return {"resourceKind": kind, "resourceName": "depths", "key": key, "targetValue": "5", **metadata}


async def read(metadata: dict[str, str]) -> float:
    return (await reading(metadata)).value


async def reading(metadata: dict[str, str]) -> Reading:
    async with shared_context(kube=OBJECTS) as lent:
        return await (await Bench(lent).opened("kubernetes-resource", metadata)).read()


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize(
    ("key", "options", "value"),
    [
        ("number", {}, 7.5),
        ("quantity", {}, 2000),
        ("quantity", {"valueType": "quantity"}, 2000),
        ("whole", {"valueType": "int64"}, 12),
        ("json", {"format": "json", "valueLocation": "queues.0.depth"}, 3),
        ("json", {"format": "json", "valueLocation": "queues.1.depth"}, 1.5),
        ("json", {"format": "json", "valueLocation": "queues.#", "valueType": "int64"}, 2),
        ("json", {"format": "json", "valueLocation": "ratio"}, 2.5),
        ("json", {"format": "json", "valueLocation": "ratio", "valueType": "int64"}, 2),
        ("json", {"format": "json", "valueLocation": "third"}, 0.3333),
        ("yaml", {"format": "yaml", "valueLocation": "ratio", "valueType": "int64"}, 2.5),
        ("yaml", {"format": "yaml", "valueLocation": "queues.1.depth", "valueType": "quantity"}, 1.5),
        ("yaml", {"format": "yaml", "valueLocation": "ratio"}, 2.5),
    ],
)
async def test_a_value_is_found(kind: str, key: str, options: dict[str, str], value: float) -> None:
    assert await read(at(key, kind, **options)) == value


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (at("missing"), 'ConfigMap default/depths has no key "missing"'),
        (at("number", resourceName="nothing"), "error reading ConfigMap default/nothing: .*not found"),
        (at("number", valueType="int64"), 'key "number" does not hold a int64'),
        (at("json", format="json", valueLocation="third", valueType="int64"), "does not hold a int64"),
        (at("json", format="json", valueLocation="flag", valueType="int64"), "does not hold a int64"),
        (at("json", format="json", valueLocation="flag"), "does not hold a float64"),
        (at("json", format="json", valueLocation="missing"), "does not hold a float64"),
        (at("text", format="json", valueLocation="a"), "is not JSON"),
        (at("yaml", format="yaml", valueLocation="queues.9"), '"9" not found'),
        (at("bytes", "Secret", resourceName="odd"), "is not text"),
        (at("no-base64", "Secret", resourceName="odd"), "is not text"),
    ],
)
async def test_a_value_that_is_not_there_is_an_error(metadata: dict[str, str], message: str) -> None:
    with pytest.raises(ScalerError, match=message):
        await read(metadata)


@pytest.mark.parametrize("key", ["nan", "infinity"])
async def test_what_is_not_finite_counts_as_0_with_a_note(key: str) -> None:
    got = await reading(at(key))
    assert (got.value, "counts as 0" in got.note) == (0, True)


@pytest.mark.parametrize("kind", ["float64", "int64", "quantity"])
@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("huge", {}),
        *(("huge json", {"format": "json", "valueLocation": name}) for name in ("number", "text")),
        *(("huge yaml", {"format": "yaml", "valueLocation": name}) for name in ("number", "text")),
    ],
    ids=str,
)
async def test_a_number_beyond_64_bits_is_an_error_and_not_the_largest_one(
    kind: str, key: str, place: dict[str, str]
) -> None:
    with pytest.raises(ScalerError):
        await read(at(key, valueType=kind, **place))


@pytest.mark.parametrize("format", ["number", "json", "yaml"])
async def test_the_value_of_a_secret_is_never_told(format: str) -> None:
    place = {} if format == "number" else {"valueLocation": "a"}
    with pytest.raises(ScalerError) as wrong:
        await read(at("text", "Secret", format=format, **place))
    assert "hunter2" not in str(wrong.value)
    assert wrong.value.__cause__ is None


async def test_a_path_that_cannot_be_followed_is_accepted_with_a_caution(bench: Bench) -> None:
    for format, cautions in (("json", 1), ("yaml", 0)):
        scaler = bench.scaler("kubernetes-resource", at("text", format=format, valueLocation="{a}"))
        assert len(scaler.cautions) == cautions


async def test_metric_target_and_activation(bench: Bench) -> None:
    scaler = bench.scaler("kubernetes-resource", at("number", "Secret", activationTargetValue="2"))
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("secret-depths-number", 5.0, 2.0)
    in_a_formula = bench.scaler("kubernetes-resource", at("number", targetValue="0"), as_metric_source=True)
    assert in_a_formula.target == 0


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, 'missing required parameter "resourceKind" in [triggerMetadata]'),
        (at("a", "Pod"), 'resourceKind: "Pod" is not allowed: write one of ConfigMap, Secret'),
        (at("a", targetValue="0"), 'targetValue: "0" is no target for an HPA: write a number above 0'),
        (at("a", format="json"), "valueLocation is required for json format"),
        (at("a", valueLocation="b"), "valueLocation is only supported with json or yaml format"),
        (at("a", valueType="float32"), 'valueType: "float32" is not allowed'),
    ],
)
async def test_metadata_that_is_refused(bench: Bench, metadata: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("kubernetes-resource", metadata)
    assert message in str(refused.value)
