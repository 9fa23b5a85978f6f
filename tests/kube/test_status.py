"""A status is written only if it differs, and only onto the object that was read."""

from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import Conflict, Invalid, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.kube.status import merge_patch, patch_status
from tests.kube.faulty_server import FaultyServer, status, thing


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 2}}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
    ],
)
def test_a_patch_holds_what_differs(old: dict[str, Any], new: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(old, new) == patch


def applied(target: Any, patch: Any) -> Any:
    """Apply a merge patch by RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = applied(result.get(name), value)
    return result


documents = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.integers(0, 2) | st.text("xy", max_size=2) | st.lists(st.integers(0, 2), max_size=2),
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=6,
    ),
)


@given(documents, documents)
def test_a_patch_applied_gives_the_new_document(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert applied(old, merge_patch(old, new)) == new


async def test_an_equal_status_is_not_written(server: FaultyServer, client: KubeClient) -> None:
    seen = thing("web", 7, status={"replicas": 1})
    assert await patch_status(client, DEPLOYMENTS, seen, {"replicas": 1}) is None
    assert not server.seen


async def test_a_changed_status_is_patched_onto_the_object_that_was_seen(
    server: FaultyServer, client: KubeClient
) -> None:
    bodies = []

    async def answer(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response(thing("web", 8))

    server.answer("PATCH /apis/apps/v1/namespaces/ns/deployments/web/status", answer)
    seen = thing("web", 7, status={"replicas": 1, "old": True})
    assert await patch_status(client, DEPLOYMENTS, seen, {"replicas": 2})
    assert bodies == [{"metadata": {"uid": "uid-web"}, "status": {"replicas": 2, "old": None}}]
    assert server.seen[0].content_type == "application/merge-patch+json"


@pytest.mark.parametrize(
    ("message", "expected"),
    [("metadata.uid: Invalid value: field is immutable", Conflict), ("status.replicas: Invalid value", Invalid)],
)
async def test_a_namesake_of_a_custom_resource_is_a_conflict_too(
    server: FaultyServer, client: KubeClient, message: str, expected: type[KubeError]
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return status(422, "Invalid", message)

    server.answer("PATCH /apis/apps/v1/namespaces/ns/deployments/web/status", answer)
    with pytest.raises(expected) as caught:
        await patch_status(client, DEPLOYMENTS, thing("web", 7), {"replicas": 2})
    assert type(caught.value) is expected
