"""`keda-py migrate check` as it is called: on a cluster, on files, for a program."""

import asyncio
from pathlib import Path

import orjson
import pytest
import yaml

from keda_py import cli
from keda_py.clock import SystemClock
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import NAMESPACES, SCALED_OBJECTS
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from tests.builders import a_namespace
from tests.definitions import DEFINITIONS
from tests.migration.installed import CRON, Obj, lease, obj, operator, watched

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
READER = User(name="reader", groups=())
READ_ONLY = [
    obj("rbac.authorization.k8s.io/v1", "ClusterRole", "reader")
    | {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]},
    obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "reader")
    | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}],
    },
]
UNKNOWN = {"type": "acme-queue", "metadata": {"topic": "t"}}


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(watched(CRON)))
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump(watched(UNKNOWN, name="jobs")))
    return tmp_path


def test_files_are_checked_without_a_cluster(manifests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["migrate", "check", str(manifests)]) == 2
    printed = capsys.readouterr().out
    assert "blocks: trigger type acme-queue: has no scaler here; used by ScaledObject shop/jobs" in printed
    assert "2 KEDA objects looked at: 1 finding blocks the move, 0 change something, 0 are fine" in printed


def test_what_only_one_file_says_leaves_the_other_alone(manifests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["migrate", "check", str(manifests / "web.yaml")]) == 0
    assert "0 findings block the move" in capsys.readouterr().out


def test_a_program_reads_json(manifests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["migrate", "check", "-o", "json", str(manifests)])
    found = orjson.loads(capsys.readouterr().out)
    assert [one["object"] for one in found if one["severity"] == "blocks"] == ["trigger type acme-queue"]
    assert all(set(one) == {"severity", "object", "message", "remedy"} for one in found)


def test_a_file_that_is_no_manifest_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [\n")
    assert cli.main(["migrate", "check", str(broken)]) == 2
    assert f"{broken}:2: not YAML" in capsys.readouterr().err


def test_the_files_beside_a_broken_one_are_checked(manifests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = yaml.safe_dump(watched(UNKNOWN, name="before"))
    (manifests / "broken.yaml").write_text(f"{good}---\nkind: [\n")
    (manifests / "latin.yaml").write_bytes(b"\xff\xfe")
    assert cli.main(["migrate", "check", str(manifests)]) == 2
    printed = capsys.readouterr()
    assert "used by ScaledObject shop/before, ScaledObject shop/jobs" in printed.out
    assert f"blocks: {manifests}/broken.yaml:{good.count(chr(10)) + 3}: not YAML" in printed.out
    assert f"blocks: {manifests}/latin.yaml: not UTF-8 at byte 0" in printed.out
    assert "3 KEDA objects looked at: 3 findings block the move, 0 change something" in printed.out
    assert printed.err.count("\n") == 2


def test_nothing_that_a_manifest_says_commands_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = "jobs\x1b[2J\x9b31m\nfine: all: well"
    trigger = {"type": odd, "metadata": {}}
    (tmp_path / "jobs\x1b[31m.yaml").write_text(yaml.safe_dump(watched(trigger, name=odd)) + "---\nkind: [\n")
    assert cli.main(["migrate", "check", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert lines
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("fine: all") for line in lines)


def live_web(**annotations: str) -> Obj:
    found = obj("apps/v1", "Deployment", "web", "shop", spec={"replicas": 1, "template": {"spec": {"containers": []}}})
    found["metadata"] |= {"resourceVersion": "7", "uid": "u", "annotations": annotations}
    return found


@pytest.mark.parametrize(
    ("web", "told"),
    [
        (live_web(), False),
        (live_web(**{LAST_APPLIED: '{"spec": {}}'}), False),
        (live_web(**{LAST_APPLIED: "not JSON"}), False),
        (live_web(**{LAST_APPLIED: '{"spec": {"replicas": 1}}'}), True),
        (obj("apps/v1", "Deployment", "web", "shop", spec={"replicas": 1}), True),
    ],
    ids=["of the API server", "not applied", "not known", "applied", "in a file"],
)
def test_a_count_is_blamed_only_if_somebody_wrote_it(
    web: Obj, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([watched(CRON), web]))
    assert cli.main(["migrate", "check", "--all", str(tmp_path)]) == 0
    assert ("sets this count" in capsys.readouterr().out) == told


def test_what_keda_loses_as_well_does_not_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(watched(CRON, coolDownPeriod=3)))
    assert cli.main(["migrate", "check", "--all", str(tmp_path)]) == 0
    assert 'fine: ScaledObject shop/web: spec.coolDownPeriod: unknown field; did you mean "cooldownPeriod"?' in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("may_read", [True, False], ids=["may read", "may not read"])
async def test_a_cluster_is_looked_at_by_somebody_who_may_only_read(
    may_read: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admin, reader = tmp_path / "admin", tmp_path / "reader"
    async with LocalCluster(SystemClock(), ClusterOptions(enforce_rbac=True)) as cluster:
        admin.write_text(cluster.kubeconfig())
        reader.write_text(cluster.kubeconfig(READER))
        await furnish(cluster, admin)
        if may_read:
            await cluster.apply(READ_ONLY)
        code = await asyncio.to_thread(cli.main, ["migrate", "check", "--all", "--kubeconfig", str(reader)])
    printed = capsys.readouterr().out
    if may_read:
        assert code == 2
        assert "trigger type acme-queue: has no scaler here; used by ScaledObject shop/web" in printed
        assert "leads by the Lease keda/operator.keda.sh, held by keda-operator-x" in printed
    else:
        assert code == 1
        assert "changes: ScaledObject: could not be looked at" in printed


async def furnish(cluster: LocalCluster, kubeconfig: Path) -> None:
    await cluster.apply(DEFINITIONS)
    async with KubeClient(SystemClock(), str(kubeconfig)) as client:
        for name in ("keda", "shop"):
            await client.create(NAMESPACES, a_namespace(name))
        await client.create(SCALED_OBJECTS, watched(UNKNOWN))
    await cluster.apply([accepted(operator("--leader-elect")), lease("keda-operator-x")])


def accepted(deployment: Obj) -> Obj:
    """With what the API server asks for beyond what is looked at."""
    spec = deployment["spec"]
    labels = {"app": "keda-operator"}
    containers = [{**one, "name": "keda-operator"} for one in spec["template"]["spec"]["containers"]]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {**deployment, "spec": {**spec, "selector": {"matchLabels": labels}, "template": template}}


def test_a_misspelt_trigger_type_is_told_the_nearest_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.yaml").write_text(yaml.safe_dump(watched({"type": "reddis", "metadata": {}}, name="jobs")))
    assert cli.main(["migrate", "check", str(tmp_path)]) == 2
    assert "remedy: if redis is meant, correct the name; else leave this cluster to KEDA" in capsys.readouterr().out
