"""Dashboard and alerts, evaluated by a real Prometheus over what it scrapes from a running operator."""

import asyncio
import json
import re  # noqa: TID251 - constant patterns over the chart's own files
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

from keda_py.clock import SystemClock
from tests.builders import a_namespace, cron, deployment, environment, metrics_api, scaled_job, scaled_object
from tests.charts.monitoring import alerts, dashboard, expressions
from tests.servers import LOOPBACK, free_port, prometheus_command, running, wait_ready
from tests.waiting import eventually
from tests.worlds.operators import running_operator
from tests.worlds.world import World, open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS = (cron("0 0 * * *", "0 18 * * *"), cron("0 12 * * *", "0 6 * * *"))
"""Two windows that overlap: one of them is open at any time."""
VARIABLES = {"$__range": "1h", "$__rate_interval": "5m", "$operator": ".*", "$namespace": ".*", "$scaledObject": ".*"}
VARIABLE = re.compile(r"\$\w+")
LATER = ("kube_", "keda_py_waker_", "keda_webhook_", "[1h:5m]", "keda_py_environment_wake_seconds")
"""Series of kube-state-metrics, of the waker, of reviews and wakes: none here; and a figure of every five minutes."""


def queries() -> list[str]:
    """The expressions of the dashboard's panels, with its variables filled in."""
    return [VARIABLE.sub(lambda found: VARIABLES[found[0]], query) for query in expressions(dashboard()["panels"])]


async def populate(world: World) -> None:
    """A ScaledObject that is awake, a ScaledObject and a ScaledJob whose sources fail, and an Environment."""
    broken = metrics_api(f"http://{LOOPBACK}:{free_port()}/")
    await world.create(a_namespace("night"))
    await world.create(deployment(), scaled_object(*ALWAYS))
    await world.create(deployment("deaf"), scaled_object(broken, name="deaf"))
    await world.create(scaled_job(broken))
    await world.create(deployment("web", 2), environment(), namespace="night")


@asynccontextmanager
async def scraping(page: str, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A Prometheus that scrapes the page as the chart's monitor has it, with the chart's alerts as its rules."""
    port = free_port()
    job = {"job_name": "keda", "static_configs": [{"targets": [page], "labels": {"namespace": "keda", "pod": "a"}}]}
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [job],
        "rule_files": ["rules.yaml"],
    }
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "keda-py", "rules": alerts()}]}))
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    with running(prometheus_command(port, folder), port, folder / "prometheus.log"):
        await asyncio.to_thread(wait_ready, f"http://{LOOPBACK}:{port}/-/ready")
        async with httpx.AsyncClient(base_url=f"http://{LOOPBACK}:{port}", trust_env=False) as client:
            yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prometheus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    """A Prometheus that knows a running operator; tests only ask it."""
    folder = tmp_path_factory.mktemp("scraped")
    async with open_world(folder, clock=SystemClock()) as world:
        await populate(world)
        page = f"{LOOPBACK}:{free_port()}"
        flags = {"kubeconfig": str(world.kubeconfig), "metrics-bind-address": page, "leader-elect": "true"}
        async with running_operator(flags), scraping(page, folder) as client:
            yield client


async def answer(client: httpx.AsyncClient, query: str) -> list[Any]:
    """The samples of a query; AssertionError with Prometheus' own words where it is refused."""
    told = (await client.get("/api/v1/query", params={"query": query})).json()
    assert told["status"] == "success", f"{query}: {told}"
    found: list[Any] = told["data"]["result"]
    return found


async def test_every_panel_of_the_dashboard_shows_something_of_a_running_operator(
    prometheus: httpx.AsyncClient,
) -> None:
    for query in queries():
        await answer(prometheus, query)
    missing = [query for query in queries() if not any(name in query for name in LATER)]

    async def first_answers() -> bool:
        """Ask what has had no answer yet, one query at a time."""
        while missing and await answer(prometheus, missing[0]):
            del missing[0]
        return not missing

    with suppress(AssertionError):  # it would not say which query
        await eventually(first_answers, 60)
    assert missing == [], "these queries have no samples"


async def test_every_alert_is_evaluated_and_the_source_that_fails_is_on_its_way_to_one(
    prometheus: httpx.AsyncClient,
) -> None:
    async def pending() -> set[str]:
        (group,) = (await prometheus.get("/api/v1/rules")).json()["data"]["groups"]
        health = {rule["name"]: (rule["health"], rule.get("lastError", "")) for rule in group["rules"]}
        assert {state for state, _ in health.values()} <= {"ok", "unknown"}, json.dumps(health)
        assert set(health) == {alert["alert"] for alert in alerts()}
        return {rule["name"] for rule in group["rules"] if rule["state"] == "pending"}

    async def expected() -> bool:
        return {"KedaPyScalerFails", "KedaPyScaledJobFails"} <= await pending()

    await eventually(expected, 60)
    assert not {"KedaPyDown", "KedaPyNoLeader", "KedaPyCertificateExpires"} & await pending()
