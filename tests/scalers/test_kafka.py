"""`kafka` and `apache-kafka` against a broker; a front speaks TLS and SASL for it, which it cannot."""

import asyncio
import base64
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.apache_kafka import ApacheKafkaScaler
from scalers.kafka import KafkaScaler
from scalers.shared.extras import needs_extra
from tests.certificates import Authority
from tests.http_server import http_server
from tests.scalers.servers.kafka import API_VERSIONS, LIST_OFFSETS, METADATA, OFFSET_FETCH, front, tansu
from tests.servers import free_port
from tests.waiting import eventually

RunTansu = Callable[..., AbstractContextManager[int]]


@pytest.fixture(scope="session")
def run_tansu(tmp_path_factory: pytest.TempPathFactory) -> RunTansu:
    return partial(tansu, folder=tmp_path_factory.mktemp("tansu"))


@pytest.fixture(scope="session")
def kafka_port(run_tansu: RunTansu) -> Iterator[int]:
    with run_tansu(free_port()) as port:
        yield port


@pytest.fixture(scope="session")
def behind(run_tansu: RunTansu) -> Iterator[tuple[int, int]]:
    """The port of a broker, and the one that it advertises, where a test puts a front."""
    advertised = free_port()
    with run_tansu(free_port(), advertised=advertised) as port:
        yield port, advertised


async def fill(port: int, topics: Mapping[str, int], groups: Mapping[str, Mapping[tuple[str, int], int]]) -> None:
    """Three partitions for each topic, with so many messages in each; and what groups have committed."""
    server = f"127.0.0.1:{port}"
    admin = AIOKafkaAdminClient(bootstrap_servers=server)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 3, 1) for topic in topics])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=server, linger_ms=0) as producer:
        for topic, messages in topics.items():
            for number in range(3 * messages):
                await producer.send_and_wait(topic, b"x", partition=number % 3)
    for group, offsets in groups.items():
        async with AIOKafkaConsumer(bootstrap_servers=server, group_id=group, enable_auto_commit=False) as consumer:
            partitions = {TopicPartition(*partition): at for partition, at in offsets.items()}
            consumer.assign(list(partitions))
            await consumer.commit(partitions)


def on(port: int, group: str = "g", topic: str = "t", **metadata: str) -> dict[str, str]:
    return {"bootstrapServers": f"127.0.0.1:{port}", "consumerGroup": group, "topic": topic, **metadata}


@pytest.fixture(scope="session")
def filled(kafka_port: int) -> int:
    """Topic `t` with 4 messages in each of 3 partitions, `t2` with 2; group `g` has read some of both."""
    committed = {("t", 0): 4, ("t", 1): 1, ("t", 2): 2, ("t2", 0): 0, ("t2", 1): 2, ("t2", 2): 2}
    asyncio.run(fill(kafka_port, {"t": 4, "t2": 2, "empty": 0}, {"g": committed, "half": {("t", 0): 1}}))
    return kafka_port


async def test_the_lag_of_a_group(bench: Any, filled: int) -> None:
    scaler = await bench.opened("kafka", on(filled))
    reading = await scaler.read()
    assert (reading.value, reading.active) == (5, True)
    assert scaler.metric_name == "kafka-t"
    assert (
        await (await bench.opened("kafka", on(filled, topic="t2", activationLagThreshold="2"))).read()
    ).active is False


@pytest.mark.parametrize(
    ("metadata", "value"),
    [
        ({}, 3 + 1 + 1),
        ({"offsetResetPolicy": "earliest"}, 3 + 4 + 4),
        ({"scaleToZeroOnInvalidOffset": "true"}, 3),
        ({"partitionLimitation": "1-2", "offsetResetPolicy": "earliest"}, 8),
        ({"lagThreshold": "1", "offsetResetPolicy": "earliest"}, 3),
        ({"lagThreshold": "1", "offsetResetPolicy": "earliest", "allowIdleConsumers": "true"}, 11),
    ],
)
async def test_partitions_without_a_committed_offset(bench: Any, filled: int, metadata: Any, value: int) -> None:
    scaler = await bench.opened("kafka", on(filled, "half", **metadata))
    assert (await scaler.read()).value == value


async def test_a_topic_without_messages_has_no_lag(bench: Any, filled: int) -> None:
    scaler = await bench.opened("kafka", on(filled, "new", "empty", offsetResetPolicy="earliest"))
    reading = await scaler.read()
    assert (reading.value, reading.active) == (0, False)


async def test_a_topic_that_is_not_there_is_an_error_and_is_not_made(bench: Any, filled: int) -> None:
    scaler = await bench.opened("kafka", on(filled, topic="nowhere"))
    for _ in range(2):
        with pytest.raises(ScalerError, match='topic "nowhere": UnknownTopicOrPartitionError'):
            await scaler.read()


async def test_a_limitation_that_leaves_no_partition_is_an_error(bench: Any, filled: int) -> None:
    scaler = await bench.opened("kafka", on(filled, partitionLimitation="7"))
    with pytest.raises(ScalerError, match="partitionLimitation leaves no partition"):
        await scaler.read()


async def test_lag_that_does_not_move_is_left_out_from_the_second_look_on(bench: Any, filled: int) -> None:
    scaler = await bench.opened("kafka", on(filled, excludePersistentLag="true"))
    first, second = await scaler.read(), await scaler.read()
    assert (first.value, first.active) == (5, True)
    assert (second.value, second.active) == (0, True)


async def test_a_list_of_topics_of_apache_kafka(bench: Any, filled: int) -> None:
    scaler = await bench.opened("apache-kafka", on(filled, topic="t, t2"))
    assert scaler.metric_name == "kafka-t,t2"
    assert (await scaler.read()).value == 7
    other = await bench.opened("apache-kafka", on(filled, topic="t,nowhere"))
    with pytest.raises(ScalerError, match="nowhere"):
        await other.read()


async def test_many_triggers_of_a_cluster_are_three_kinds_of_requests(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    topics = [f"many-{number}" for number in range(8)]
    async with front(broker, advertised) as between:
        await fill(advertised, dict.fromkeys(topics, 1), {})
        wanted = [on(advertised, group, topic) for group in ("a", "b") for topic in [*topics, "nowhere"]]
        scalers = [await bench.opened("kafka", metadata) for metadata in wanted]
        assert len({scaler.batch_key for scaler in scalers}) == 1
        await scalers[0].read()
        between.asked.clear()
        readings = await scalers[0].read_batch(scalers)
    errors = [one for one in readings if isinstance(one, ScalerError)]
    assert len(errors) == 2
    assert [one.value for one in readings if not isinstance(one, ScalerError)] == [3.0] * 16
    assert {key: between.asked[key] for key in (METADATA, OFFSET_FETCH, LIST_OFFSETS)} == {
        METADATA: 1,
        OFFSET_FETCH: 2,
        LIST_OFFSETS: 1,
    }


async def test_layout_and_offsets_are_asked_for_in_one_round_trip(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between:
        await fill(advertised, {"quick": 1}, {})
        scaler = await bench.opened("kafka", on(advertised, topic="quick"))
        assert (await scaler.read()).value == 3
        between.asked.clear()
        between.silent = True
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(scaler.read())
            await eventually(lambda: {METADATA, OFFSET_FETCH, LIST_OFFSETS} <= set(between.asked))
            reading.cancel()


async def test_a_topic_made_anew_with_other_partitions_counts_as_it_is_now(bench: Any, filled: int) -> None:
    await fill(filled, {"changing": 2}, {})
    scaler = await bench.opened("kafka", on(filled, topic="changing", offsetResetPolicy="earliest"))
    assert (await scaler.read()).value == 6
    admin = AIOKafkaAdminClient(bootstrap_servers=f"127.0.0.1:{filled}")
    await admin.start()
    await admin.delete_topics(["changing"])
    await admin.create_topics([NewTopic("changing", 1, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{filled}", linger_ms=0) as producer:
        await producer.send_and_wait("changing", b"x", partition=0)
    assert [(await scaler.read()).value for _ in range(2)] == [1, 1]


async def test_without_a_topic_all_count_that_the_group_has_committed_to(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between:
        await fill(advertised, {"some": 2, "others": 1}, {"own": {("some", 0): 1}})
        between.all_topics = {"some": [0], "others": [0]}
        for kind in ("kafka", "apache-kafka"):
            scaler = await bench.opened(kind, on(advertised, "own", "", offsetResetPolicy="earliest"))
            assert scaler.metric_name == "kafka-own-topics"
            assert (await scaler.read()).value == 1 + 2 + 2 + 3


@pytest.mark.parametrize("mechanism", ["plaintext", "scram_sha256", "scram_sha512"])
async def test_a_user_and_a_password(bench: Any, behind: tuple[int, int], mechanism: str) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between:
        await fill(advertised, {"secret": 2}, {})
        between.users = {"ann": "pa,s=s"}
        metadata = on(advertised, topic="secret", sasl=mechanism)
        scaler = await bench.opened("kafka", metadata, auth={"username": "ann", "password": "pa,s=s"})
        assert (await scaler.read()).value == 3
        with pytest.raises(ScalerError) as wrong:
            await bench.opened("kafka", metadata, auth={"username": "ann", "password": "hunter2"})
        with pytest.raises(ScalerError, match=f"kafka 127.0.0.1:{advertised}"):
            await bench.opened("kafka", on(advertised, topic="secret"))
    assert f"kafka 127.0.0.1:{advertised}" in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


async def test_work_that_a_broker_may_ask_for_is_bounded(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between:
        between.users, between.iterations = {"ann": "x"}, 2_000_000_000
        with pytest.raises(ScalerError, match="ValueError"):
            await bench.opened("kafka", on(advertised, sasl="scram_sha256"), auth={"username": "ann", "password": "x"})


async def test_a_token_of_an_oauth_server(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between, http_server() as oauth:
        await fill(advertised, {"granted": 1}, {})
        oauth.answers["/token"] = '{"access_token": "t0ken", "expires_in": 600}'
        between.tokens = {"t0ken"}
        auth = {"username": "c", "password": "s", "oauthTokenEndpointUri": f"{oauth.url}/token", "scopes": "a,b"}
        scaler = await bench.opened("kafka", on(advertised, topic="granted", sasl="oauthbearer"), auth=auth)
        assert (await scaler.read()).value == 3
        between.tokens = {"another"}
        with pytest.raises(ScalerError) as refused:
            await bench.opened("kafka", on(advertised, sasl="oauthbearer"), auth={**auth, "scopes": "c"})
    assert "t0ken" not in str(refused.value)


async def test_a_signature_of_aws(bench: Any, behind: tuple[int, int], tmp_path: Path) -> None:
    broker, advertised = behind
    authority = Authority()
    async with front(broker, advertised, server_tls(authority, tmp_path)) as between:
        between.tokens = _Signatures("AKIDEXAMPLE")
        auth = {"awsAccessKeyID": "AKIDEXAMPLE", "awsSecretAccessKey": "shh", "ca": authority.cert}
        metadata = on(advertised, sasl="aws_msk_iam", awsRegion="eu-west-1", tls="enable")
        await bench.opened("apache-kafka", metadata, auth=auth)
        metadata |= {"sasl": "oauthbearer", "saslTokenProvider": "aws_msk_iam"}
        await bench.opened("kafka", metadata, auth=auth)
        with pytest.raises(ConfigError, match="the operator's identity for AWS is not sent to host"):
            await bench.opened("kafka", {**metadata, "identityOwner": "operator"}, auth={"ca": authority.cert})


class _Signatures(set[str]):
    """Takes each address that this key has signed to connect to a cluster."""

    def __init__(self, key_id: str) -> None:
        super().__init__({key_id})
        self._key_id = key_id

    def __contains__(self, token: object) -> bool:
        signed = urlsplit(base64.urlsafe_b64decode(f"{token}==").decode())
        fields = {name: value[0] for name, value in parse_qs(signed.query).items()}
        assert (signed.hostname, fields["Action"]) == ("kafka.eu-west-1.amazonaws.com", "kafka-cluster:Connect")
        assert (fields["X-Amz-Expires"], len(fields["X-Amz-Signature"])) == ("900", 64)
        return fields["X-Amz-Credential"].startswith(f"{self._key_id}/")


def server_tls(authority: Authority, folder: Path) -> ssl.SSLContext:
    leaf = authority.leaf("kafka")
    (folder / "cert").write_text(leaf.cert)
    (folder / "key").write_text(leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


async def test_tls(bench: Any, behind: tuple[int, int], tmp_path: Path) -> None:
    broker, advertised = behind
    authority = Authority()
    async with front(broker, advertised, server_tls(authority, tmp_path)):
        metadata = on(advertised, topic="nowhere", tls="enable")
        await bench.opened("kafka", metadata, auth={"ca": authority.cert})
        await bench.opened("kafka", {**metadata, "unsafeSsl": "true"})
        with pytest.raises(ScalerError, match="certificate verify failed"):
            await bench.opened("kafka", metadata)
        with pytest.raises(ScalerError, match=f"kafka 127.0.0.1:{advertised}: "):
            await bench.opened("kafka", on(advertised))


async def test_a_restarted_broker_is_asked_at_once(bench: Any, run_tansu: RunTansu) -> None:
    with run_tansu(free_port()) as port:
        await fill(port, {"t": 1}, {})
        scaler = await bench.opened("kafka", on(port))
        assert (await scaler.read()).value == 3
    with pytest.raises(ScalerError, match=f"kafka 127.0.0.1:{port}: "):
        await scaler.read()
    with run_tansu(port):
        await fill(port, {"t": 1}, {"g": {("t", 0): 1}})
        assert (await scaler.read()).value == 2


async def test_a_connection_that_falls_silent_is_replaced(bench: Any, behind: tuple[int, int]) -> None:
    broker, advertised = behind
    async with front(broker, advertised) as between:
        await fill(advertised, {"silent": 1}, {})
        scaler = await bench.opened("kafka", on(advertised, topic="silent"), timeout=0.6)
        between.silent = True
        async with asyncio.timeout(0.6):
            with pytest.raises(ScalerError, match=r"no answer in 0\.3 s"):
                await scaler.read()
        between.silent = False
        between.asked.clear()
        assert (await scaler.read()).value == 3
        assert between.asked[API_VERSIONS] == 1


async def test_another_bootstrap_server_answers_for_one_that_is_down(bench: Any, filled: int) -> None:
    servers = f"127.0.0.1:1,127.0.0.1:{filled}"
    scaler = await bench.opened("kafka", on(filled, bootstrapServers=servers))
    assert (await scaler.read()).value == 5


async def test_a_server_that_never_answers_is_given_up(bench: Any, silent_port: int) -> None:
    with pytest.raises(ScalerError, match=f"kafka 127.0.0.1:{silent_port}: "):
        await bench.opened("kafka", on(silent_port), timeout=0.2)


async def test_a_server_of_another_protocol_is_an_error(bench: Any) -> None:
    async with http_server() as web:
        with pytest.raises(ScalerError, match="kafka 127.0.0.1"):
            await bench.opened("kafka", on(web.port))


@pytest.mark.parametrize("server", ["kafka:port", "user@kafka:1", ":1", "kafka:99999"])
async def test_a_server_that_is_not_one(bench: Any, server: str) -> None:
    with pytest.raises(ConfigError, match="bootstrapServers: write host:port"):
        await bench.opened("kafka", on(1, bootstrapServers=server))


async def test_kerberos_is_refused_with_a_reason(bench: Any) -> None:
    auth = {"username": "u", "password": "p", "realm": "R", "kerberosConfig": "c"}
    scaler = bench.scaler("kafka", on(1, sasl="gssapi"), auth=auth)
    assert "Kerberos" in scaler.cautions[0]
    with pytest.raises(ConfigError, match="use another mechanism"):
        await scaler.open()


async def test_settings_without_effect_are_told(bench: Any) -> None:
    scaler = bench.scaler("kafka", on(1, topic="a,b", version="2.0.0"))
    assert [caution.split()[0] for caution in scaler.cautions] == ["version", "topic"]


def test_a_library_that_is_missing_is_named_with_its_remedy() -> None:
    remedy = r"no_such_library is not installed: pip install 'keda-py\[kafka\]'"
    with pytest.raises(ConfigError, match=remedy), needs_extra("kafka"):
        import no_such_library  # noqa: F401


@pytest.mark.parametrize(("kind", "scaler"), [("kafka", KafkaScaler), ("apache-kafka", ApacheKafkaScaler)])
async def test_the_contract_is_kept(bench: Any, kind: str, scaler: Any) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(scaler, Trigger(type=kind, metadata=on(9092)), context)


@pytest.mark.parametrize("trigger_type", ["kafka", "apache-kafka"])
async def test_lag_is_asked_about_often_at_zero_unless_it_counts_what_has_moved(bench: Any, trigger_type: str) -> None:
    keys = {"bootstrapServers": "h:9092", "consumerGroup": "g", "topic": "t", "lagThreshold": "5"}
    assert bench.scaler(trigger_type, keys).asked_often_at_zero
    assert not bench.scaler(trigger_type, keys | {"excludePersistentLag": "true"}).asked_often_at_zero
