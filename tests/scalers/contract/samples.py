"""A smallest valid trigger of each type, which leads to a server of ours; every secret in it has a text that is known.

Types that ask over HTTP have one among their recorded exchanges; all others are written here, or have no server.
"""

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keda_py.sdk.registry import scaler_class
from scalers.shared.auth_modes import AuthModesMetadata
from tests.scalers.recorded.http_cases import exchange_that_reads, recorded_exchanges

HUSH = "hush5ecret"
"""In every secret."""
HUSH_CODED = base64.b64encode(f"{HUSH}{HUSH}".encode()).decode()
SECRETS = (HUSH, HUSH_CODED, base64.b64encode(f":{HUSH}".encode()).decode()[4:-4], "PRIVATE KEY")
"""Texts that no error has; the key of an account is base64."""

_HTTP = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"value": 1'
_REDIS = b"$500\r\nthe beginning of"
_KAFKA = b"\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00"
_HTTP2 = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00"
_MYSQL = b"\x4a\x00\x00\x00\x0a8.0.36\x00\x08\x00"
_POSTGRES = b"R\x00\x00\x00\x17\x00\x00\x00\x0aSCRAM"
_MSSQL = b"\x04\x01\x00\x2b\x00\x00\x01\x00\x00\x00\x1a"
_MONGODB = b"\x00\x01\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\xdd\x07\x00\x00\x00\x00"
_CQL = b"\x84\x00\x00\x00\x06\x00\x00\x00\x40\x00\x00"
_CLICKHOUSE = b"\x00\x0aClickHouse\x18\x08\xb3"
_AMQP = b"\x01\x00\x00\x00\x00\x01\xf1\x00\x0a\x00\x0a\x00\x09\x00"
_AMQP_1 = b"AMQP\x03\x01\x00"
_BEANSTALK = b"OK 900\r\n---\nname: mails\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A trigger. HOST, PORT, URL... in double braces are the server's; `tls`: metadata and auth that ask for TLS.

    `greeting`: how an answer begins that the client would wait for the rest of. `shown`: what errors call the server,
    "" for its host and port. `proxied`: its host is fixed, so that a proxy leads to ours. `port`: nor can it be chosen.
    """

    name: str
    type: str
    metadata: Mapping[str, str]
    auth: Mapping[str, str] = field(default_factory=dict)
    tls: tuple[Mapping[str, str], Mapping[str, str]] | None = None
    greeting: bytes = _HTTP
    shown: str = ""
    proxied: bool = False
    port: int = 0

    @property
    def is_secured(self) -> bool:
        """Does it speak TLS in any case?"""
        return self.proxied or bool(self.port)

    def over_tls(self) -> "Sample":
        """The same trigger, and TLS is asked for."""
        assert self.tls is not None
        metadata, auth = self.tls
        return replace(self, metadata={**self.metadata, **metadata}, auth={**self.auth, **auth})


def _sample(kind: str, metadata: Mapping[str, str], auth: Mapping[str, str], greeting: bytes, **more: Any) -> Sample:
    return Sample(name=more.pop("name", kind), type=kind, metadata=metadata, auth=auth, greeting=greeting, **more)


_LOGIN = {"username": "ann", "password": HUSH}
_REDIS_TLS = ({"enableTLS": "true"}, {})
_REDIS_LOGIN = {**_LOGIN, "sentinelUsername": "ann", "sentinelPassword": HUSH}
_MASTER = {"sentinelMaster": "main", "addresses": "{{HOST}}"}
_KAFKA_PLACE = {"bootstrapServers": "{{HOST}}", "consumerGroup": "billing", "topic": "clicks"}
_QUERY = {"query": "select 1", "queryValue": "7"}
_TLS_ON: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {"tls": "enable", "ca": "{{CA}}"})
_HUB = f"Endpoint=sb://{{{{IP}}}}/;SharedAccessKeyName=reader;SharedAccessKey={HUSH_CODED};EntityPath=clicks"
_STORE = (
    f"DefaultEndpointsProtocol=http;AccountName=shopstore;AccountKey={HUSH_CODED};BlobEndpoint={{{{URL}}}}/shopstore"
)
_GCP = {"GoogleApplicationCredentials": "{{GCPKEY}}"}
_GRPC_TLS = ({"enableTLS": "true"}, {"caCert": "{{CA}}"})

WRITTEN: Sequence[Sample] = (
    _sample("redis", {"listName": "jobs", "address": "{{HOST}}"}, _LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("redis-streams", {"stream": "events", "address": "{{HOST}}"}, _LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("redis-cluster", {"listName": "jobs", "addresses": "{{HOST}}"}, _LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("redis-cluster-streams", {"stream": "events", "addresses": "{{HOST}}"}, _LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("redis-sentinel", {"listName": "jobs", **_MASTER}, _REDIS_LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("redis-sentinel-streams", {"stream": "events", **_MASTER}, _REDIS_LOGIN, _REDIS, tls=_REDIS_TLS),
    _sample("kafka", {**_KAFKA_PLACE, "sasl": "plaintext"}, _LOGIN, _KAFKA, tls=({}, {"tls": "enable"})),
    _sample("apache-kafka", {**_KAFKA_PLACE, "sasl": "scram_sha256"}, _LOGIN, _KAFKA, tls=({}, {"tls": "enable"})),
    _sample(
        "postgresql",
        {
            "query": "select 1",
            "targetQueryValue": "7",
            "host": "{{IP}}",
            "port": "{{PORT}}",
            "userName": "ann",
            "dbName": "shop",
            "sslmode": "disable",
        },
        {"password": HUSH},
        _POSTGRES,
        tls=({"sslmode": "verify-full"}, {}),
    ),
    _sample(
        "mysql",
        _QUERY,
        {"connectionString": f"ann:{HUSH}@tcp({{{{HOST}}}})/shop"},
        _MYSQL,
        tls=({}, {"connectionString": f"ann:{HUSH}@tcp({{{{HOST}}}})/shop?tls=true"}),
    ),
    _sample(
        "mssql",
        {"query": "select 1", "targetValue": "3"},
        {"connectionString": f"sqlserver://ann:{HUSH}@{{{{HOST}}}}?database=shop&encrypt=disable"},
        _MSSQL,
        tls=({}, {"connectionString": f"sqlserver://ann:{HUSH}@{{{{HOST}}}}?database=shop&encrypt=true"}),
    ),
    _sample(
        "mongodb",
        {"query": '{"state":"open"}', "queryValue": "7", "collection": "orders", "dbName": "shop"},
        {"connectionString": f"mongodb://ann:{HUSH}@{{{{HOST}}}}/shop"},
        _MONGODB,
        tls=({}, {"connectionString": f"mongodb://ann:{HUSH}@{{{{HOST}}}}/shop?tls=true"}),
    ),
    _sample(
        "cassandra",
        {
            "username": "ann",
            "clusterIPAddress": "{{HOST}}",
            "keyspace": "shop",
            "query": "SELECT COUNT(*) FROM t",
            "targetQueryValue": "3",
        },
        {"password": HUSH},
        _CQL,
        tls=({}, {"tls": "enable", "cert": "{{CERT}}", "key": "{{KEY}}", "ca": "{{CA}}"}),
    ),
    _sample(
        "clickhouse",
        {"host": "{{IP}}", "port": "{{PORT}}", "username": "ann", "query": "SELECT 1", "targetQueryValue": "3"},
        {"password": HUSH},
        _CLICKHOUSE,
        tls=({}, {"tls": "true", "ca": "{{CA}}"}),
    ),
    _sample(
        "clickhouse",
        {"query": "SELECT 1", "targetQueryValue": "3"},
        {"connectionString": f"http://ann:{HUSH}@{{{{HOST}}}}/shop"},
        _HTTP,
        name="clickhouse by HTTP",
        tls=({}, {"connectionString": f"https://ann:{HUSH}@{{{{HOST}}}}/shop", "tls": "true", "ca": "{{CA}}"}),
    ),
    _sample(
        "rabbitmq",
        {"mode": "QueueLength", "queueName": "orders", "value": "5"},
        {"host": f"amqp://ann:{HUSH}@{{{{HOST}}}}/"},
        _AMQP,
        name="rabbitmq by AMQP",
        tls=({}, {"host": f"amqps://ann:{HUSH}@{{{{HOST}}}}/", "tls": "enable", "ca": "{{CA}}"}),
    ),
    _sample("beanstalkd", {"server": "{{HOST}}", "tube": "mails", "value": "5"}, {}, _BEANSTALK),
    _sample(
        "etcd",
        {"endpoints": "http://{{HOST}}", "watchKey": "load", "value": "5.5"},
        _LOGIN,
        _HTTP,
        tls=({"endpoints": "https://{{HOST}}"}, {}),
    ),
    _sample("external", {"scalerAddress": "{{HOST}}", "password": HUSH}, {}, _HTTP2, tls=_GRPC_TLS),
    _sample("external-push", {"scalerAddress": "{{HOST}}", "password": HUSH}, {}, _HTTP2, tls=_GRPC_TLS),
    _sample(
        "temporal",
        {"endpoint": "{{HOST}}", "taskQueue": "emails"},
        {},
        _HTTP2,
        tls=({}, {"apiKey": HUSH, "ca": "{{CA}}"}),
    ),
    _sample("liiklus", {"address": "{{HOST}}", "topic": "clicks", "group": "billing"}, {}, _HTTP2),
    _sample(
        "predictkube",
        {
            "prometheusAddress": "{{URL}}",
            "query": "sum(x)",
            "predictHorizon": "2h",
            "queryStep": "2m",
            "historyTimeWindow": "7d",
            "threshold": "100",
        },
        {"apiKey": f"{HUSH}.{HUSH}.{HUSH}", "authModes": "bearer", "bearerToken": HUSH},
        _HTTP,
        tls=({"prometheusAddress": "https://{{HOST}}"}, {}),
    ),
    _sample(
        "azure-eventhub",
        {"consumerGroup": "readers"},
        {"connection": _HUB, "storageConnection": _STORE},
        _AMQP_1,
        port=5671,
        shown="{{IP}}",
    ),
    _sample(
        "gcp-cloudtasks",
        {"queueName": "mails", "projectID": "shop-1"},
        _GCP,
        _HTTP,
        proxied=True,
        shown="oauth2.googleapis.com",
    ),
    _sample(
        "gcp-spanner",
        {"projectId": "shop-1", "instanceId": "main", "databaseId": "orders", "query": "SELECT COUNT(*) FROM jobs"},
        _GCP,
        _HTTP,
        proxied=True,
        shown="oauth2.googleapis.com",
    ),
    _sample("gcp-pubsub", {"subscriptionName": "orders-sub"}, _GCP, _HTTP, proxied=True, shown="oauth2.googleapis.com"),
    _sample(
        "gcp-stackdriver",
        {"projectId": "shop-1", "filter": 'metric.type="x"'},
        _GCP,
        _HTTP,
        proxied=True,
        shown="oauth2.googleapis.com",
    ),
)
HOSTS: Mapping[str, str] = {
    "azure-app-insights": "login.microsoftonline.com",
    "azure-data-explorer": "login.microsoftonline.com",
    "azure-log-analytics": "login.microsoftonline.com",
    "azure-monitor": "login.microsoftonline.com",
    "azure-servicebus": "ns1.servicebus.windows.net",
    "datadog": "datadoghq.com",
    "gcp-storage": "oauth2.googleapis.com",
    "huawei-cloudeye": "ces.cn-north-4.example.com",
    "new-relic": "api.newrelic.com",
    "splunk-observability": "stream.us1.signalfx.com",
}
"""Of types whose host is fixed, the first that is asked."""
WITHOUT_SERVER: Mapping[str, str] = {
    "cpu": "the HPA reads it",
    "memory": "the HPA reads it",
    "cron": "the clock tells",
    "request": "wakers tell, through an annotation of the ScaledObject",
    "kubernetes-workload": "the operator's own cache of pods tells",
    "kubernetes-resource": "the operator's own client of the API server tells",
}
"""Type -> why no server of its own is asked."""


def samples() -> Mapping[str, Sample]:
    """By name: the written ones, and one of each type that was recorded."""
    recorded = [_of_recording(name) for name in recorded_exchanges()]
    return {one.name: one for one in (*recorded, *WRITTEN)}


def _of_recording(kind: str) -> Sample:
    given = exchange_that_reads(kind).recorded
    metadata, auth = dict(given["metadata"]), dict(given.get("auth", {}))
    model = scaler_class(kind).metadata_model
    if issubclass(model, AuthModesMetadata) and not auth:
        auth = {"authModes": "bearer", "bearerToken": HUSH}
    secret = {name for key in model.declared_keys() if key.secret for name in key.names}
    metadata, auth = (_hushed(texts, secret) for texts in (metadata, auth))
    plain = "{{URL}}" in json.dumps([metadata, auth]) and not given.get("proxy")
    tls = tuple({key: _secured(text) for key, text in texts.items()} for texts in (metadata, auth)) if plain else None
    return Sample(
        name=kind,
        type=kind,
        metadata=metadata,
        auth=auth,
        tls=tls,
        proxied=bool(given.get("proxy")),
        shown=HOSTS.get(kind, ""),
    )


def _hushed(texts: Mapping[str, str], secret: Collection[str]) -> dict[str, str]:
    """With our secrets for the recorded ones; of those with a structure only the parts that are secret."""
    return {key: _hush(text, whole=key in secret) for key, text in texts.items()}


def _hush(text: str, *, whole: bool) -> str:
    for recorded in ("c2VjcmV0a2V5", "c2VjcmV0"):
        if recorded in text:
            return text.replace(recorded, HUSH_CODED)
    if ":password@" in text:
        return text.replace(":password@", f":{HUSH}@")
    return HUSH if whole and "{{" not in text else text


def _secured(text: str) -> str:
    return text.replace("{{URL}}", "https://{{HOST}}").replace("Protocol=http;", "Protocol=https;")
