"""Who asked for an Override: only the review that let it in is believed."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj, ObjectPath
from keda_py.operator.admission.requesters import Requester, Requesters


class Cluster:
    """An informer and a client in one: what is written, and what is told of."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._tell: Callable[[Obj | None, Obj | None], None] = lambda old, new: None
        self.known: Obj | None = None

    def subscribe(self, tell: Callable[[Obj | None, Obj | None], None]) -> None:
        self._tell = tell

    def get(self, namespace: str, name: str) -> Obj | None:
        return self.known

    async def patch(self, path: ObjectPath, body: Obj) -> Obj:
        self.written.append(body["status"]["requestedBy"])
        return body

    def appears(self, uid: str, author: str = "") -> None:
        meta = {"namespace": "shop", "name": "evening", "uid": uid}
        self.known = {"metadata": meta, "status": {"requestedBy": author} if author else {}}
        self._tell(None, self.known)


def request(uid: str, user: str) -> Requester:
    return Requester(namespace="shop", name="evening", uid=uid, user=user)


async def written(cluster: Cluster, requesters: Requesters) -> list[str]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(requesters.run())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
    return cluster.written


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def requesters(cluster: Cluster) -> Requesters:
    return Requesters(cast(KubeClient, cluster), cast(Informer, cluster))


async def test_the_review_of_this_very_object_tells_its_author(cluster: Cluster, requesters: Requesters) -> None:
    requesters.expect(request("u1", "jana"))
    cluster.appears("u1")
    assert await written(cluster, requesters) == ["jana"]


async def test_an_object_that_is_seen_before_its_review_is_told_of_is_signed_as_well(
    cluster: Cluster, requesters: Requesters
) -> None:
    cluster.appears("u1")
    requesters.expect(request("u1", "jana"))
    assert await written(cluster, requesters) == ["jana"]


@pytest.mark.parametrize("uid", ["u0", "u1"], ids=["of an object that was refused", "that is made up afterwards"])
async def test_no_other_review_signs_it(cluster: Cluster, requesters: Requesters, uid: str) -> None:
    requesters.expect(request("u0", "pavel"))
    cluster.appears("u1", author="jana")
    requesters.expect(request(uid, "pavel"))
    assert await written(cluster, requesters) == []


async def test_of_two_reviews_of_one_object_the_first_is_believed(cluster: Cluster, requesters: Requesters) -> None:
    requesters.expect(request("u1", "jana"))
    requesters.expect(request("u1", "pavel"))
    cluster.appears("u1")
    assert await written(cluster, requesters) == ["jana"]


async def test_what_its_creator_makes_up_at_once_does_not_sign_over_the_author(
    cluster: Cluster, requesters: Requesters
) -> None:
    requesters.expect(request("u1", "jana"))
    cluster.appears("u1")
    requesters.expect(request("u1", "pavel"))  # our watch does not show the author yet
    assert await written(cluster, requesters) == ["jana"]
