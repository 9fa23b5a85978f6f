"""The assembled cluster: credentials, manifests, virtual time, and the process behind `keda-py local`."""

import asyncio
import io
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
import yaml

from keda_py.clock import SteppedClock
from keda_py.errors import ConfigError
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.command import LocalOptions, read_manifests, run_local
from keda_py.localkube.model.calls import User
from keda_py.schema.status import StatusError

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"


def look_at(path: Path) -> tuple[str, str]:
    return yaml.safe_load(path.read_text())["kind"], oct(stat.S_IMODE(path.stat().st_mode))


async def who_am_i(cluster: LocalCluster, context: ssl.SSLContext) -> dict[str, object]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    url = f"{cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
        session.post(url, json=review) as response,
    ):
        user: dict[str, object] = (await response.json())["status"]["userInfo"]
        return user


async def test_a_client_is_the_user_of_its_certificate() -> None:
    async with LocalCluster() as cluster:
        user = await who_am_i(cluster, cluster.client_context(User(name="jane", groups=("dev",))))
    assert user["username"] == "jane"
    assert user["groups"] == ["dev", "system:authenticated"]


async def test_all_clusters_of_a_process_have_one_authority() -> None:
    async with LocalCluster() as one, LocalCluster() as other:
        user = await who_am_i(other, one.client_context(User(name="jane")))
    assert user["username"] == "jane"


async def test_the_kubeconfig_is_complete_in_itself() -> None:
    async with LocalCluster() as cluster:
        config = yaml.safe_load(cluster.kubeconfig())
    assert config["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}


async def test_a_manifest_of_an_unknown_kind_is_refused_with_its_kind() -> None:
    async with LocalCluster() as cluster:
        with pytest.raises(StatusError, match='no matches for kind "ScaledObject"'):
            await cluster.apply([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "a"}}])


async def test_the_namespaces_of_a_fresh_cluster_have_their_initial_objects() -> None:
    async with LocalCluster(SteppedClock(datetime(2026, 3, 2, tzinfo=UTC))) as cluster:
        await cluster.clock.sleep(0)
        await cluster.apply([yaml.safe_load(CONFIG_MAP)])
        accounts = cluster.store.resources.get("v1", "ServiceAccount")
        maps = cluster.store.resources.get("v1", "ConfigMap")
        assert cluster.store.find(accounts, "kube-system", "default") is not None
        root = cluster.store.get(maps, "default", "kube-root-ca.crt")
    assert root["data"]["ca.crt"] == cluster.identity.certificate_authority.decode()


async def test_days_pass_in_a_moment_of_real_time() -> None:
    clock = SteppedClock(datetime(2026, 3, 2, tzinfo=UTC))
    async with LocalCluster(clock) as cluster:
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}}
        containers = {"spec": {"containers": [{"name": "app", "image": "x"}]}}
        template = {**spec["template"], **containers}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
        await cluster.apply([{**deployment, "spec": {**spec, "template": template}}])
        async with asyncio.timeout(10):
            await clock.advance(timedelta(days=4))
        found = cluster.store.get(cluster.store.resources.get("apps/v1", "Deployment"), "default", "web")
    assert found["status"]["readyReplicas"] == 1


async def test_the_process_applies_files_and_hands_a_private_kubeconfig_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(CONFIG_MAP)
    options = LocalOptions(files=(tmp_path,), kubeconfig=tmp_path / "kubeconfig")
    announced: list[str] = []
    seen: list[object] = []

    async def operator(kubeconfig: Path) -> None:
        seen.extend(look_at(kubeconfig))

    await run_local(options, announced.append, operator)
    assert [yaml.safe_load(text)["kind"] for text in announced] == ["Config"]
    assert seen == ["Config", "0o600"]


async def test_without_an_operator_the_process_runs_until_it_is_cancelled(tmp_path: Path) -> None:
    options = LocalOptions(kubeconfig=tmp_path / "kubeconfig")
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run_local(options, lambda _: ready.set(), None))
        await ready.wait()
        assert not task.done()
        task.cancel()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: [", "cannot be read", id="broken YAML"),
        pytest.param("just: text\n", "not a Kubernetes object", id="no kind"),
    ],
)
def test_a_file_without_manifests_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem) as raised:
        list(read_manifests(path))
    assert str(path) in str(raised.value)


def test_a_list_is_unpacked_and_empty_documents_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text("---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret}\n")
    assert [manifest["kind"] for manifest in read_manifests(path)] == ["Secret"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        list(read_manifests(tmp_path / "none.yaml"))


def test_standard_input_is_read_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(CONFIG_MAP))
    assert [manifest["kind"] for manifest in read_manifests(Path("-"))] == ["ConfigMap"]


async def test_namespaces_and_definitions_are_applied_first(tmp_path: Path) -> None:
    inside = CONFIG_MAP.replace("{name: one}", "{name: one, namespace: shop}")
    (tmp_path / "a.yaml").write_text(inside)
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")

    async def operator(_: Path) -> None:
        return None

    await run_local(LocalOptions(files=(tmp_path,), kubeconfig=tmp_path / "kubeconfig"), lambda _: None, operator)
