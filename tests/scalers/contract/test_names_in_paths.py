"""Names of a trigger's metadata in the paths of requests: none of them leads to another place of the server."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from keda_py.testing import shared_context
from tests.http_server import http_server
from tests.scalers.conftest import Bench
from tests.scalers.contract.bad_servers import closed_port
from tests.scalers.contract.polls import Address, lending, poll
from tests.scalers.contract.samples import samples
from tests.scalers.recorded.stage import Papers

SAMPLES = samples()
IN_PATHS = [  # what asks another question first is left out
    *[("gcp-stackdriver", "projectId"), ("gcp-cloudtasks", "projectID"), ("gcp-storage", "bucketName")],
    *[("azure-monitor", key) for key in ("subscriptionId", "resourceGroupName")],
    *[("azure-app-insights", "applicationInsightsId"), ("azure-log-analytics", "workspaceId")],
    *[("azure-blob", "blobContainerName"), ("azure-queue", "queueName"), ("azure-servicebus", "queueName")],
    *[("solr", "collection"), ("arangodb", "dbName"), ("solace-event-queue", "messageVpn")],
    *[("solarwinds", "metricName"), ("rabbitmq", "queueName"), ("pulsar", "topic")],
    *[("github-runner", "owner"), ("forgejo-runner", "org"), ("splunk", "username")],
]


@pytest.mark.parametrize(("name", "key"), IN_PATHS, ids=lambda one: one)
@pytest.mark.parametrize("step", [".", ".."])
async def test_a_name_that_is_a_step_in_a_path_is_refused_before_anything_is_asked(
    name: str, key: str, step: str, papers: Papers
) -> None:
    sample = SAMPLES[name]
    part = "auth" if key in sample.auth else "metadata"
    sample = replace(sample, **{part: {**getattr(sample, part), key: step}})
    async with closed_port() as server, lending(papers, 0.3, None) as lent:
        outcome = await poll(sample, Address(ip="127.0.0.1", port=server.port, proxy=""), lent, papers)
    assert "is a step in a path; write a name" in outcome.error


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with shared_context() as lent:
        bench = Bench(lent)
        yield bench
        await bench.aclose()


@pytest.mark.parametrize(
    ("trigger_type", "metadata", "path"),
    [
        ("solr", {"collection": "a/../b?c#d"}, "/solr/a%2F..%2Fb%3Fc%23d/select?q="),
        ("pulsar", {"topic": "persistent://t/n/a?b c"}, "/admin/v2/persistent/t/n/a%3Fb%20c/stats"),
        ("couchdb", {"dbName": "a/../b"}, "/a%2F..%2Fb/_find"),
        ("solarwinds", {"metricName": "a/b?c", "aggregation": "AVG"}, "/v1/metrics/a/b%3Fc/measurements?"),
    ],
    ids=["solr", "pulsar", "couchdb", "solarwinds"],
)
async def test_a_name_is_one_segment_of_the_path_that_the_server_sees(
    bench: Bench, trigger_type: str, metadata: dict[str, str], path: str
) -> None:
    async with http_server() as server:
        server.answers["/_up"] = "{}"
        given = {"host": server.url, "adminURL": server.url, "connectionString": server.url, "subscription": "s"}
        given |= {"targetQueryValue": "1", "query": "{}", "queryValue": "1", "username": "u", "password": "p"}
        given |= {"targetValue": "1", "activationValue": "0", "intervalS": "60", "apiToken": "t"}
        scaler = await bench.opened(trigger_type, {**given, **metadata})
        with pytest.raises(Exception, match="404"):
            await scaler.read()
    assert path in server.asked[-1].raw_path
