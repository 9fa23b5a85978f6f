"""Resources of the engine for scalers: sharing, and the reach of triggers in the cluster."""

import asyncio
from contextlib import aclosing

import pytest

from keda_py.errors import ConfigError, Forbidden
from keda_py.sdk.advanced import KubeReader, OpenKey
from keda_py.sdk.context import Reach, SharedResources
from keda_py.sdk.scaler import ScalerError
from keda_py.testing import EngineContext, Objects, config_map, endpoint_slice, pod, secret, shared_context

KEY = OpenKey(what=("pool",))


class Pool:
    """Counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    async def open(self) -> "Pool":
        self.opened += 1
        await asyncio.sleep(0)
        return self

    async def close(self, pool: "Pool") -> None:
        self.closed += 1


async def test_a_resource_is_opened_once_and_closed_with_its_last_user() -> None:
    shared, pool = SharedResources(), Pool()
    taken = await asyncio.gather(*(shared.take(KEY, pool.open, pool.close) for _ in range(5)))
    assert {id(each) for each in taken} == {id(pool)}
    for users_left in (4, 3, 2, 1, 0):
        await shared.give_back(KEY)
        assert pool.closed == (users_left == 0)
    assert pool.opened == 1
    await shared.take(KEY, pool.open, pool.close)
    assert pool.opened == 2


async def test_a_factory_that_fails_leaves_nothing_and_the_next_user_tries_again() -> None:
    shared, pool = SharedResources(), Pool()

    async def fail() -> Pool:
        await asyncio.sleep(0)
        raise ScalerError("not now")

    answers = await asyncio.gather(
        shared.take(KEY, fail, pool.close), shared.take(KEY, pool.open, pool.close), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [ScalerError, Pool]
    await shared.give_back(KEY)
    assert (pool.opened, pool.closed) == (1, 1)


async def test_a_user_that_gives_up_waiting_does_not_take_the_resource_from_the_others() -> None:
    shared, pool = SharedResources(), Pool()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(shared.take(KEY, pool.open, pool.close))
        second = tasks.create_task(shared.take(KEY, pool.open, pool.close))
        await asyncio.sleep(0)
        first.cancel()
    assert second.result() is pool
    await shared.give_back(KEY)
    assert pool.closed == 1


async def test_a_context_gives_back_what_its_scaler_took() -> None:
    pool = Pool()
    async with shared_context() as lent:
        first, second = (
            EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=index)
            for index in (0, 1)
        )
        await first.shared(KEY, pool.open, pool.close)
        await second.shared(KEY, pool.open, pool.close)
        await first.aclose()
        await first.aclose()
        assert pool.closed == 0
        await second.aclose()
        assert pool.closed == 1


async def test_a_resource_that_cannot_be_closed_is_forgotten() -> None:
    shared, pool = SharedResources(), Pool()

    async def fail(pool: Pool) -> None:
        raise ScalerError("cannot close")

    await shared.take(KEY, pool.open, fail)
    with pytest.raises(ScalerError):
        await shared.give_back(KEY)
    await shared.take(KEY, pool.open, pool.close)
    assert pool.opened == 2


THINGS = Objects(
    pods=[pod("app", labels={"app": "app"})],
    configmaps=[config_map("backlog", {"count": "1"})],
    secrets=[secret("backlog", {"count": "MQ=="})],
    endpointslices=[endpoint_slice("app", ["127.0.0.1"], port=80)],
)
"""All in namespace default."""
SLICES = "endpointslices.discovery.k8s.io"


async def reader_of(namespace: str, reach: Reach) -> KubeReader:
    async with shared_context(kube=THINGS, reach=reach) as lent:
        return EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0).kube


async def test_a_trigger_reads_its_own_namespace() -> None:
    kube = await reader_of("default", Reach())
    assert len(await kube.pods("default", "app=app")) == 1
    assert (await kube.get("configmaps", "default", "backlog"))["data"] == {"count": "1"}
    assert (await kube.get("secrets", "default", "backlog"))["data"] == {"count": "MQ=="}
    assert len(await kube.list(SLICES, "default", "kubernetes.io/service-name=app")) == 1


async def test_a_trigger_follows_only_what_it_may_read() -> None:
    kube = await reader_of("default", Reach(secrets_of="keda"))
    async with aclosing(kube.changes("configmaps", "default", name="backlog")) as changes:
        assert await anext(changes) is None
    for resource, namespace in (("secrets", "default"), ("configmaps", "shop"), ("pods", "shop"), ("pods", "")):
        with pytest.raises(Forbidden):
            kube.changes(resource, namespace, name="backlog")


@pytest.mark.parametrize("namespace", ["default", ""])
async def test_a_trigger_reads_no_other_namespace(namespace: str) -> None:
    kube = await reader_of("shop", Reach(secrets_of="keda"))
    with pytest.raises(Forbidden, match=f'triggers of namespace "shop" may not read pods of namespace "{namespace}"'):
        await kube.pods(namespace, "")
    for resource in ("configmaps", "secrets", SLICES):
        with pytest.raises(Forbidden):
            await kube.get(resource, namespace, "backlog")
        with pytest.raises(Forbidden):
            await kube.list(resource, namespace)


@pytest.mark.parametrize(
    ("allowed", "namespace", "reads"),
    [({"default"}, "default", True), ({"*"}, "default", True), ({"bank"}, "default", False), ({"*"}, "", False)],
    ids=["by name", "all", "another is allowed", "never all namespaces at once"],
)
async def test_the_endpoints_of_another_namespace_are_read_where_allowed(
    allowed: set[str], namespace: str, reads: bool
) -> None:
    kube = await reader_of("shop", Reach(endpoints_of=frozenset(allowed)))
    if reads:
        assert len(await kube.list(SLICES, namespace)) == 1
    else:
        with pytest.raises(Forbidden, match="may name it in --cross-namespace-endpoints"):
            await kube.list(SLICES, namespace)
    with pytest.raises(Forbidden):
        await kube.get("secrets", "default", "backlog")


async def test_where_secrets_are_restricted_a_trigger_does_not_even_read_those_of_its_own_namespace() -> None:
    kube = await reader_of("default", Reach(secrets_of="keda"))
    with pytest.raises(Forbidden, match="under KEDA_RESTRICT_SECRET_ACCESS only Secrets of keda are read"):
        await kube.get("secrets", "default", "backlog")
    assert await kube.get("configmaps", "default", "backlog")
    assert await (await reader_of("default", Reach(secrets_of="default"))).get("secrets", "default", "backlog")


async def test_a_key_that_says_nothing_of_a_credential_is_refused() -> None:
    shared, pool = SharedResources(), Pool()
    with pytest.raises(ConfigError, match=r"the key of a shared resource is a tuple: make it with .*sharing_key"):
        await shared.take(("redis", "s3cret"), pool.open, pool.close)  # type: ignore[arg-type]
    assert pool.opened == 0
