"""A scaler of its own: what follows from the marks on its metadata, and from the template of its metric's name."""

from collections.abc import AsyncIterator
from typing import Annotated

import pytest
from pydantic import SecretStr

from keda_py.errors import ConfigError
from keda_py.sdk import advanced
from keda_py.sdk import scaler as scaler_names
from keda_py.sdk.advanced import META, ExternalMetric, named
from keda_py.sdk.context import SharedContext
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, Target, TriggerMetadata, sources
from keda_py.sdk.type_pages import page_of_class
from keda_py.testing import EngineContext, shared_context


class QueueMetadata(TriggerMetadata):
    queue_id: Annotated[str, named("queueID")]
    host: Annotated[str, sources(META, AUTH)] = "acme"
    token: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    queue_length: Annotated[float, Target()] = 5.0
    activation_queue_length: Annotated[int | None, Activation()] = None


class QueueScaler(Scaler[QueueMetadata]):
    metric_name = "acme-{queueID}-{host}"

    async def read(self) -> Reading:
        return Reading(value=3.0)


@pytest.fixture
async def lent() -> AsyncIterator[SharedContext]:
    async with shared_context() as lent:
        yield lent


def scaler_of(lent: SharedContext, *, formula: bool = False, **metadata: str) -> QueueScaler:
    context = EngineContext(
        shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0, as_metric_source=formula
    )
    return QueueScaler(QueueMetadata.parse({"queueID": "jobs", **metadata}, {}, {}), context)


async def test_name_target_and_activation_follow_from_the_metadata(lent: SharedContext) -> None:
    scaler = scaler_of(lent, queueLength="7.5", activationQueueLength="2")
    assert await scaler.specs() == (ExternalMetric(name="acme-jobs-acme", target=7.5),)
    assert scaler.activation == 2.0
    assert isinstance(scaler.activation, float)
    assert scaler_of(lent).activation == 0.0


async def test_braces_in_a_value_are_no_template(lent: SharedContext) -> None:
    assert scaler_of(lent, host="{token}{0}").metric_name == "acme-jobs-{token}{0}"


@pytest.mark.parametrize(("length", "shown"), [("0", "0"), ("-2.5", "-2.5")])
async def test_a_target_that_no_hpa_takes_is_refused_by_its_key(lent: SharedContext, length: str, shown: str) -> None:
    text = f'^queueLength: "{shown}" is no target for an HPA: write a number above 0$'
    with pytest.raises(ConfigError, match=text) as refused:
        scaler_of(lent, queueLength=length)
    assert refused.value.field == "queueLength"


async def test_a_target_that_is_missing_is_asked_for_by_its_key(lent: SharedContext) -> None:
    class NoDefaultMetadata(QueueMetadata):
        queue_length: Annotated[float | None, Target()] = None

    class NoDefaultScaler(Scaler[NoDefaultMetadata]):
        metric_name = "acme"

    metadata = NoDefaultMetadata.parse({"queueID": "jobs"}, {}, {})
    with pytest.raises(ConfigError, match="^no queueLength given: write a number above 0$"):
        NoDefaultScaler(metadata, scaler_of(lent).context)
    assert NoDefaultScaler(metadata, scaler_of(lent, formula=True).context).target == 0


async def test_under_a_formula_a_target_may_be_0_since_the_formula_has_its_own(lent: SharedContext) -> None:
    assert scaler_of(lent, queueLength="0", formula=True).target == 0


def test_the_name_of_a_field_stands_for_its_key() -> None:
    class FieldScaler(QueueScaler):
        metric_name = "acme-{queue_id}"

    assert page_of_class("field", FieldScaler).metric == "`acme-<queueID>`."


def test_the_page_of_a_type_tells_name_target_and_activation() -> None:
    page = page_of_class("queue", QueueScaler)
    assert page.metric == "`acme-<queueID>-<host>`."
    meanings = {key.name: meaning for key, meaning in page.keys}
    assert meanings["queueLength"].startswith("The value that one replica should have")
    assert meanings["activationQueueLength"] == "The trigger is active above this value."


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("acme-{queue}", "queue is no key of QueueMetadata"),
        ("acme-{}", " is no key of QueueMetadata"),
        ("acme-{host.__class__}", "host.__class__ is no key of QueueMetadata"),
        ("acme-{token}", "token is a secret"),
    ],
)
def test_a_template_that_cannot_be_filled_fails_where_the_class_is_defined(template: str, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        type("BadScaler", (QueueScaler,), {"metric_name": template})


async def test_a_property_takes_the_place_of_a_template(lent: SharedContext) -> None:
    class NamedScaler(QueueScaler):
        @property
        def metric_name(self) -> str:
            return f"named-{self.metadata.queue_id}"

    scaler = scaler_of(lent)
    assert NamedScaler(scaler.metadata, scaler.context).metric_name == "named-jobs"


def test_the_names_that_moved_are_found_where_scalers_of_earlier_releases_import_them() -> None:
    for name in advanced.__all__:
        assert getattr(scaler_names, name) is getattr(advanced, name)
    assert not hasattr(scaler_names, "no_such_name")


class SeveralScaler(QueueScaler):
    async def specs(self) -> tuple[ExternalMetric, ...]:
        return ExternalMetric(name="up", target=1), ExternalMetric(name="down", target=1)

    async def read_metric(self, spec: ExternalMetric) -> Reading:
        return Reading(value=float(len(spec.name)))


class OlderScaler(QueueScaler):
    """A scaler that was written for an earlier release."""

    async def read(self, spec: ExternalMetric | None = None) -> Reading:
        return Reading(value=float(len(spec.name)) if spec else 0.0)


async def test_one_of_several_metrics_is_read_by_its_spec(lent: SharedContext) -> None:
    one, up = scaler_of(lent), ExternalMetric(name="up", target=1)
    assert (await one.read_metric(up)).value == 3
    for kind in (SeveralScaler, OlderScaler):
        assert (await kind(one.metadata, one.context).read_metric(up)).value == 2
