"""Exchanges of which none was recorded, by the rules of KEDA's code: what it asks then, and makes of the answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.scalers.recorded.http_cases import HttpCase, exchange_that_reads
from tests.scalers.recorded.stage import Papers, Stage

Exchange = dict[str, Any]
JSZ = {"m": "GET", "path": "/jsz", "query": {"acc": "$G", "config": "true", "consumers": "true"}}


def written(
    trigger_type: str,
    metadata: Mapping[str, str],
    answers: Sequence[Exchange],
    results: Sequence[Exchange],
    **more: Any,
) -> HttpCase:
    """An exchange in the form of the recorded ones."""
    recorded = {"name": "written", "metadata": metadata, "answers": answers, "results": results, **more}
    return HttpCase(trigger_type, recorded)


def spec(metric: str, milli: int) -> list[Exchange]:
    return [{"metric": metric, "targetType": "AverageValue", "targetMilli": milli}]


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
async def test_a_search_is_sent_again_where_a_proxy_has_no_answer(stage: Stage, kind: str, status: int) -> None:
    read = exchange_that_reads(kind).recorded
    (look, found), failed = read["answers"], {"status": status, "body": {}, "match": "POST /", "once": True}
    case = HttpCase(kind, {**read, "answers": [look, failed, {**failed, "times": 2}, {**found, "match": "POST /"}]})
    played = await case.play(stage, case.given(stage))
    (reading,) = played.rounds
    assert (reading.error, reading.milli) == ("", read["results"][0]["value"])
    assert [asked.method for asked in reading.asked] == ["POST"] * 4


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
async def test_a_search_that_no_proxy_answers_is_an_error_after_four_tries(stage: Stage, kind: str) -> None:
    read = exchange_that_reads(kind).recorded
    failed = {"status": 502, "body": {}, "match": "POST /"}
    case = HttpCase(kind, {**read, "answers": [read["answers"][0], failed]})
    (reading,) = (await case.play(stage, case.given(stage))).rounds
    assert "HTTP 502" in reading.error
    assert len(reading.asked) == 4


@pytest.mark.parametrize("authority", ["{{CA}}", ""])
async def test_the_authority_of_an_opensearch_counts_beside_a_password(stage: Stage, authority: str) -> None:
    read = exchange_that_reads("opensearch").recorded
    metadata = {**read["metadata"], "addresses": "{{TLSURL}}"}
    case = HttpCase("opensearch", {**read, "metadata": metadata, "auth": {**read["auth"], "caCert": authority}})
    played = await case.play(stage, case.given(stage))
    assert bool(played.refused) == (not authority)
    assert [reading.milli for reading in played.rounds] == ([read["results"][0]["value"]] if authority else [])


async def test_any_success_of_solr_is_an_answer(stage: Stage) -> None:
    read = exchange_that_reads("solr").recorded
    case = HttpCase("solr", {**read, "answers": [{**answer, "status": 201} for answer in read["answers"]]})
    assert await case.difference(stage) == ""


@pytest.mark.parametrize("body", [None, {"data": None}, {"status": "success", "data": {"result": None}}])
async def test_null_from_loki_is_an_error_unless_it_is_the_list_of_series(stage: Stage, body: object) -> None:
    read = exchange_that_reads("loki").recorded
    case = HttpCase("loki", {**read, "answers": [{"body": body}]})
    (reading,) = (await case.play(stage, case.given(stage))).rounds
    assert bool(reading.error) == ("result" not in str(body))


async def test_an_agent_of_datadog_that_has_no_value_gives_way_to_the_one_that_is_written(stage: Stage) -> None:
    metadata = {
        "useClusterAgentProxy": "true",
        "datadogMetricName": "dm",
        "datadogMetricNamespace": "ns",
        "targetValue": "4",
        "metricUnavailableValue": "7.5",
    }
    auth = {"datadogNamespace": "shop", "datadogMetricsService": "agent", "unsafeSsl": "true"}
    answers = [{"status": 422, "body": {"message": "metric is invalid"}}]
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/datadogmetric@ns:dm"
    asked = {"m": "GET", "host": "agent.shop:8443", "tls": True, "path": path}
    results = [{"metric": "datadogmetric@ns:dm", "value": 7500, "active": True, "requests": [asked]}]
    options = {"auth": auth, "proxy": True, "specs": spec("datadogmetric@ns:dm", 4000)}
    assert await written("datadog", metadata, answers, results, **options).difference(stage) == ""


def jetstream(leader: str, waiting: int) -> Exchange:
    consumer = {"name": "c1", "num_pending": waiting, "num_ack_pending": 0, "cluster": {"leader": leader}}
    stream = {"name": "s1", "consumer_detail": [consumer], "config": {"subjects": ["x"]}}
    account = {"id": "$G", "name": "$G", "stream_detail": [stream]}
    return {"account_details": [account], "meta_cluster": {"cluster_size": 3}}


async def test_a_leader_of_nats_that_says_that_it_leads_no_more_is_searched_at_once(stage: Stage) -> None:
    metadata = {"account": "$G", "consumer": "c1", "stream": "s1", "lagThreshold": "10"}
    servers = {"cluster": {"urls": ["n1.nats:6222", "n2.nats:6222"]}, "server_name": "n1"}
    answers = [
        {"host": "nats:8222", "match": "GET /varz", "body": servers},
        {"host": "nats:8222", "match": "GET /jsz", "body": jetstream("n1", 1)},
        {"host": "n1.nats:8222", "match": "GET /jsz", "body": jetstream("n1", 5), "once": True},
        {"host": "n1.nats:8222", "match": "GET /jsz", "body": jetstream("n2", 5)},
        {"host": "n2.nats:8222", "match": "GET /jsz", "body": jetstream("n2", 6)},
    ]
    endpoint, first, second = ({**JSZ, "host": f"{host}:8222"} for host in ("nats", "n1.nats", "n2.nats"))
    names = {"m": "GET", "path": "/varz", "host": "nats:8222"}
    rounds = [(5000, [endpoint, names, first]), (6000, [first, names, first, second])]
    results = [
        {"metric": "s0-nats-jetstream-s1", "value": value, "active": True, "requests": asked} for value, asked in rounds
    ]
    case = written(
        "nats-jetstream",
        {**metadata, "natsServerMonitoringEndpoint": "nats:8222"},
        answers,
        results,
        proxy=True,
        polls=2,
        specs=spec("s0-nats-jetstream-s1", 10_000),
    )
    assert await case.difference(stage) == ""


async def test_an_azure_cloud_of_ones_own_is_asked_with_a_token_of_its_own_login(stage: Stage) -> None:
    """KEDA asks the login of the public cloud, which knows no tenant of another."""
    read = exchange_that_reads("azure-app-insights").recorded
    private = {
        "cloud": "Private",
        "appInsightsResourceURL": "https://insights.shop.example",
        "activeDirectoryEndpoint": "https://login.shop.example/",
    }
    answers = [{**answer, "host": "login.shop.example"} if "host" in answer else answer for answer in read["answers"]]
    case = HttpCase("azure-app-insights", {**read, "metadata": {**read["metadata"], **private}, "answers": answers})
    (reading,) = (await case.play(stage, case.given(stage))).rounds
    assert (reading.error, reading.milli) == ("", read["results"][0]["value"])
    assert {asked.host for asked in reading.asked} == {"login.shop.example", "insights.shop.example"}


async def test_jobs_that_github_says_are_unchanged_count_for_their_own_run(stage: Stage, papers: Papers) -> None:
    """KEDA 2.20 keeps the jobs of a repository, so that the last of its runs counts for each of them."""
    metadata = {"owner": "me", "runnerScope": "repo", "repos": "shop", "enableEtags": "true"}
    jobs = {f"/{run}/jobs": count for run, count in ((11, 1), (12, 3))}
    runs = {"workflow_runs": [{"id": run, "status": "queued"} for run in (11, 12)]}
    place = "GET /repos/me/shop/actions/runs"
    answers = [
        *(
            answer
            for path, count in jobs.items()
            for answer in (
                {
                    "match": f"{place}{path}?per_page=100",
                    "body": queued(count),
                    "headers": {"ETag": '"a"'},
                    "once": True,
                },
                {"match": f"{place}{path}?per_page=100", "status": 304},
            )
        ),
        {"match": f"{place}?status=queued&per_page=100", "body": runs},
        {"match": f"{place}?status=in_progress&per_page=100", "body": {"workflow_runs": []}},
    ]
    more = {"auth": {"personalAccessToken": "tok"}, "polls": 2}
    case = written("github-runner", {**metadata, "githubApiURL": "{{URL}}"}, answers, [], **more)
    played = await case.play(stage, case.given(stage))
    assert [(reading.error, reading.milli) for reading in played.rounds] == [("", 4000)] * 2


def queued(count: int) -> Exchange:
    return {"jobs": [{"id": number, "status": "queued", "labels": ["self-hosted"]} for number in range(count)]}
