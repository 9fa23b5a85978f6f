"""Trigger types and the classes behind them."""

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.errors import ConfigError
from keda_py.sdk import registry
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.checks import warn_of_triggers
from keda_py.sdk.scaler import Scaler
from keda_py.testing import EngineContext, shared_context

BUILT_IN = {
    "aws-sqs-queue",
    "cpu",
    "cron",
    "kubernetes-resource",
    "kubernetes-workload",
    "memory",
    "metrics-api",
    "prometheus",
    "redis",
}


def test_the_built_in_types_are_registered() -> None:
    assert set(registry.trigger_types()) >= BUILT_IN


@pytest.mark.parametrize("trigger_type", sorted(BUILT_IN))
def test_a_type_leads_to_its_class_and_file(trigger_type: str) -> None:
    scaler = registry.scaler_class(trigger_type)
    assert issubclass(scaler, Scaler)
    # KEDA's metrics have its name with a small first letter: metricsAPIScaler.
    assert scaler.__name__.lower() == trigger_type.replace("-", "") + "scaler"
    assert scaler.__module__ == f"scalers.{trigger_type.replace('-', '_')}"


def test_a_type_that_keda_has_removed_is_refused_with_what_to_use_instead() -> None:
    with pytest.raises(ConfigError, match=r"^no scaler found for type: stan: NATS Streaming .* use nats-jetstream$"):
        registry.scaler_class("stan")


def test_an_unknown_type_is_refused_with_its_neighbours() -> None:
    with pytest.raises(ConfigError, match=r"^no scaler found for type: prometeus; nearest: prometheus$"):
        registry.scaler_class("prometeus")
    with pytest.raises(ConfigError, match=r"^no scaler found for type: zzz; `keda-py scalers` lists the types$"):
        registry.scaler_class("zzz")


async def test_build_names_the_type_in_every_refusal() -> None:
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
        with pytest.raises(ConfigError) as parsing:
            registry.build(Trigger(type="prometheus", metadata={}), context)
        with pytest.raises(ConfigError) as building:
            registry.build(Trigger(type="cpu", metadata={"value": "50"}), context)
    assert str(parsing.value).startswith("error parsing prometheus metadata: missing required parameter ")
    assert str(building.value).startswith("error parsing cpu metadata: unknown metric type: , allowed values are ")


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution with scalers of its own."""
    info = tmp_path / "acme_scalers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-scalers\nVersion: 1.0\n")
    lines = ["acme = acme_scaler:AcmeScaler", "cron = acme_scaler:AcmeScaler", "broken = acme_missing:X"]
    wrong = ["wrong = acme_scaler:NotOne", "gone = acme_scaler:Gone"]
    (info / "entry_points.txt").write_text("\n".join(["[keda_py.scalers]", *lines, *wrong]))
    (tmp_path / "acme_scaler.py").write_text(
        "from keda_py.sdk.scaler import Scaler, TriggerMetadata\n"
        "class AcmeMetadata(TriggerMetadata):\n    queue: str\n"
        "class AcmeScaler(Scaler[AcmeMetadata]):\n    def __init__(self, *_):\n        raise ValueError\n"
        "class NotOne:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_third_parties() -> object:
    yield
    _forget()
    sys.modules.pop("acme_scaler", None)


def _forget() -> None:
    registry.scaler_class.cache_clear()
    registry._installed.cache_clear()


@pytest.mark.usefixtures("third_party")
def test_a_third_party_registers_in_the_same_way() -> None:
    assert "acme" in registry.trigger_types()
    assert registry.scaler_class("acme").metadata_model.__name__ == "AcmeMetadata"


@pytest.mark.usefixtures("third_party")
def test_a_third_party_does_not_replace_a_built_in_type() -> None:
    assert len(entry_points(group="keda_py.scalers", name="cron")) == 2
    assert registry.scaler_class("cron").__module__ == "scalers.cron"


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize(
    ("trigger_type", "reason"),
    [
        ("broken", "cannot be imported: No module named 'acme_missing'"),
        ("gone", "cannot be imported"),
        ("wrong", "is not a subclass of keda_py.sdk.scaler.Scaler"),
    ],
)
def test_a_third_party_that_is_broken_is_the_users_error(trigger_type: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        registry.scaler_class(trigger_type)


@pytest.mark.usefixtures("third_party")
async def test_a_third_party_scaler_that_cannot_be_made_ends_no_admission() -> None:
    trigger = ScaleTrigger(type="acme", metadata={"queue": "orders"})
    async with shared_context() as lent:
        found = [warning.message for warning in warn_of_triggers([trigger], lent)]
    assert found == ["spec.triggers[0]: acme fails with ValueError: a bug in that scaler"]
