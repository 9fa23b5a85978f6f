"""Bad input: whatever a manifest holds, it is understood or refused in words; nothing crashes and nothing stalls."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import MetricSpec
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.errors import ConfigError
from keda_py.sdk import registry
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.checks import context_of
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.testing import shared_context
from keda_py.validation.checks import Validation
from keda_py.validation.documents import DocumentError, read_documents
from keda_py.validation.release import Release
from tests.properties import examples
from tests.validation.manifests import generated, mutated

CPU_SECONDS = 5.0
thorough = examples(150)


@pytest.fixture(scope="module")
def lent() -> Iterator[tuple[SharedContext, asyncio.Runner]]:
    with asyncio.Runner() as runner:
        lending = shared_context()
        yield runner.run(lending.__aenter__()), runner
        runner.run(lending.__aexit__(None, None, None))


@given(body=generated())
@thorough
def test_a_generated_manifest_is_understood_or_refused(
    lent: tuple[SharedContext, asyncio.Runner], body: dict[str, Any]
) -> None:
    pass_through(body, *lent)


@given(body=mutated())
@thorough
def test_a_mutated_manifest_is_understood_or_refused(
    lent: tuple[SharedContext, asyncio.Runner], body: dict[str, Any]
) -> None:
    pass_through(body, *lent)


def pass_through(body: dict[str, Any], lending: SharedContext, runner: asyncio.Runner) -> None:
    """Soon, in CPU time: a busy machine is no fault of the manifest."""
    before = time.process_time()
    judge(body, lending, runner)
    assert time.process_time() - before < CPU_SECONDS


def judge(body: dict[str, Any], lending: SharedContext, runner: asyncio.Runner) -> None:
    """Validate; parse -> check -> spec -> scalers -> manifest. A refusal is a ConfigError, or a problem with a place."""
    refused = validate(body, lending)
    if body["kind"] != "ScaledObject":
        return
    try:
        spec = build_spec(parse_object(ScaledObject, body))
        check_bounds(spec)
        check_triggers(spec.triggers)
        metrics = name_metrics(
            spec, [runner.run(specs_of(spec, index, lending)) for index in range(len(spec.triggers))]
        )
        manifest = build_hpa(spec, metrics)
    except ConfigError:
        return
    if not refused:  # otherwise the API server would not have let it come this far
        assert orjson.dumps(manifest)
        assert manifest["spec"]["minReplicas"] <= manifest["spec"]["maxReplicas"]


def validate(body: dict[str, Any], lending: SharedContext) -> bool:
    try:
        text = orjson.dumps(body, default=str).decode()
    except orjson.JSONEncodeError:  # an integer of more than 64 bits: YAML alone can hold it
        return True
    try:
        documents = list(read_documents(text, "m.yaml"))
    except DocumentError:
        return True
    problems = list(Validation(Release(documents), lending).problems())
    for problem in problems:
        assert problem.line == 1
        assert problem.message.strip()
        assert problem.object.startswith(body["kind"])
    return any(problem.severity == "error" for problem in problems)


async def specs_of(spec: ScalingSpec, index: int, lending: SharedContext) -> tuple[MetricSpec, ...]:
    trigger = spec.triggers[index]
    context: EngineContext = context_of(trigger, index, lending, spec)
    return await registry.build(Trigger(type=trigger.type, metadata=trigger.metadata), context).specs()
