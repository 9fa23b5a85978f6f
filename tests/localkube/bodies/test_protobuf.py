import pytest

from keda_py.localkube.bodies.protobuf import decode_protobuf
from keda_py.schema.status import StatusError


def field(number: int, value: bytes | int) -> bytes:
    """Encode a field of less than 128 bytes."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def body(kind: bytes, *parts: bytes, api_version: bytes = b"v1") -> bytes:
    type_meta = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, type_meta) + field(2, b"".join(parts)) + field(3, b"") + field(4, b"")


def entry(key: bytes, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


METADATA = field(1, field(1, b"x") + field(2, b"") + field(3, b"ns") + field(11, entry(b"a", b"b")))


def test_a_config_map_is_read() -> None:
    assert decode_protobuf(body(b"ConfigMap", METADATA, field(2, entry(b"k", b"v")), field(2, entry(b"e", b"")))) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "ns", "labels": {"a": "b"}},
        "data": {"k": "v", "e": ""},
    }


def test_the_bytes_of_a_secret_become_base64() -> None:
    secret = decode_protobuf(body(b"Secret", METADATA, field(2, entry(b"k", b"\xff\x00")), field(3, b"Opaque")))
    assert secret["data"] == {"k": "/wA="}
    assert secret["type"] == "Opaque"


def test_unknown_fields_are_skipped() -> None:
    alien = bytes([30 << 3 & 0x7F | 0x80, 1, 5])  # field 30, varint
    assert decode_protobuf(body(b"Namespace", METADATA, alien))["metadata"]["name"] == "x"


def test_delete_options_are_read() -> None:
    options = decode_protobuf(body(b"DeleteOptions", field(1, 0), field(4, b"Foreground"), field(5, b"All")))
    assert options["propagationPolicy"] == "Foreground"
    assert options["gracePeriodSeconds"] == 0
    assert options["dryRun"] == ["All"]


@pytest.mark.parametrize("broken", [b"{}", b"k8s\0\x0a\x7fshort", b"k8s\0\x0f", b"k8s\0\x0a\x02\xff\xff"])
def test_a_broken_body_is_a_bad_request(broken: bytes) -> None:
    with pytest.raises(StatusError) as refusal:
        decode_protobuf(broken)
    assert refusal.value.code == 400


def test_a_kind_that_is_not_in_the_table_asks_for_json() -> None:
    with pytest.raises(StatusError, match="protobuf bodies of kind Frob are not understood") as refusal:
        decode_protobuf(body(b"Frob", METADATA))
    assert refusal.value.code == 415


def test_a_scale_is_read() -> None:
    scale = decode_protobuf(body(b"Scale", METADATA, field(2, field(1, 4)), api_version=b"autoscaling/v1"))
    assert scale["spec"] == {"replicas": 4}
