"""Our own metrics, under KEDA's names."""

import pytest

from keda_py.errors import ScalerError
from keda_py.metrics.prometheus import MetricsPage, OperatorMetrics

KEY = ("shop", "app")
LABELS = 'metric="s0-a-x",namespace="shop",scaledObject="app",scaler="tapScaler",triggerIndex="0",type="scaledobject"'


@pytest.fixture
def metrics() -> OperatorMetrics:
    return OperatorMetrics()


async def page(metrics: OperatorMetrics) -> list[str]:
    return (await MetricsPage(metrics).render()).decode().splitlines()


async def record(world, metrics):
    for reading in (await world.readings.poll(KEY)).readings:
        metrics.record_reading(KEY, world.readings.built(KEY), reading)


async def test_a_reading_shows_value_activity_latency_and_no_errors(world, metrics):
    await world.build()
    world.taps["a"].value = 12.5
    await record(world, metrics)
    text = await page(metrics)
    assert f"keda_scaler_metrics_value{{{LABELS}}} 12.5" in text
    assert f"keda_scaler_active{{{LABELS}}} 1.0" in text
    assert f"keda_scaler_detail_errors_total{{{LABELS}}} 0.0" in text
    assert 'keda_scaled_object_errors_total{namespace="shop",scaledObject="app"} 0.0' in text
    assert any(line.startswith(f"keda_scaler_metrics_latency_seconds{{{LABELS}}}") for line in text)


async def test_a_failed_reading_counts_and_leaves_the_last_value(world, metrics):
    await world.build({"name": "queue"})
    await record(world, metrics)
    world.taps["a"].value = ScalerError("down")
    await world.clock.advance(30)
    await record(world, metrics)
    text = await page(metrics)
    labels = LABELS.replace("tapScaler", "queue")
    assert f"keda_scaler_detail_errors_total{{{labels}}} 1.0" in text
    assert f"keda_scaler_metrics_value{{{labels}}} 1.0" in text


async def test_series_end_with_their_object_and_with_their_metric(world, metrics):
    await world.build()
    await record(world, metrics)
    metrics.record_paused(KEY, paused=True)
    metrics.record_lateness(KEY, 0.25)
    assert 'keda_scaled_object_paused{namespace="shop",scaledObject="app"} 1.0' in await page(metrics)
    metrics.forget_metrics(KEY, kept=["s0-other"])
    assert not any("s0-a-x" in line for line in await page(metrics))
    assert any("app" in line for line in await page(metrics))
    metrics.forget(KEY)
    assert not any("shop" in line for line in await page(metrics))


async def test_registered_objects_and_triggers_are_gauges_under_kedas_names(metrics):
    metrics.record_registered({("scaled_object", "shop"): 2}, {"redis": 3, "cron": 1})
    metrics.record_registered({("scaled_object", "shop"): 1}, {"redis": 3})
    metrics.record_error(KEY)
    text = await page(metrics)
    assert 'keda_resource_registered_total{namespace="shop",type="scaled_object"} 1.0' in text
    assert 'keda_trigger_registered_total{type="redis"} 3.0' in text
    assert not any("cron" in line for line in text)
    assert 'keda_scaled_object_errors_total{namespace="shop",scaledObject="app"} 1.0' in text
    assert any(line.startswith("keda_build_info{") for line in text)
    assert any(line.startswith("process_resident_memory_bytes") for line in text)
    assert "# TYPE keda_trigger_registered_total gauge" in text
