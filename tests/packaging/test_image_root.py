"""The image, run as a cluster runs it: as uid 65532, on a root file system that cannot be written to, with no shell.

`.ci/rootfs FOLDER` makes it, and IMAGE_ROOT names that folder; `.ci/run` does both.
"""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from keda_py.clock import SystemClock
from tests.builders import cron, deployment, scaled_object
from tests.places import ROOT as TOP
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually
from tests.worlds.world import open_world

FOLDER = os.environ.get("IMAGE_ROOT", "")
pytestmark = pytest.mark.skipif(
    not FOLDER or os.geteuid() != 0 or sys.platform != "linux",
    reason="needs root on Linux, and IMAGE_ROOT, the folder that `.ci/rootfs FOLDER` has made",
)
ROOT = Path(FOLDER)
MOST_MEGABYTES = 220
ALWAYS = (cron("0 0 * * *", "0 18 * * *"), cron("0 12 * * *", "0 6 * * *"))
"""Two windows that overlap: one of them is open at any time."""
# Each command replaces the one before: a signal reaches the process of the image itself.
_ENTER = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" &&
mount -t tmpfs none "$1/tmp" && mount -t tmpfs none "$1/dev" && mount -t proc none "$1/proc" &&
touch "$1/dev/null" && mount --bind /dev/null "$1/dev/null" &&
mkdir "$1/tmp/given" && mount --bind "$2" "$1/tmp/given" && chmod 1777 "$1/tmp" &&
root=$1 && user=$3 && shift 3 && exec chroot --userspec="$user" "$root" "$@"
"""
_LOADED = """
import importlib, sys
from importlib.metadata import entry_points
from pathlib import Path
for entry in entry_points(group="keda_py.scalers"):
    entry.load()
top = Path("/usr/lib/python3/dist-packages")
failed = []
for path in top.rglob("*.so"):
    name = ".".join([*path.relative_to(top).parts[:-1], path.name.split(".")[0]])
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}: {error!r}")
from botocore.session import get_session
for service in ("cloudwatch", "dynamodb", "dynamodbstreams", "kinesis", "secretsmanager", "sqs", "sts"):
    get_session().create_client(service, "eu-west-1", aws_access_key_id="a", aws_secret_access_key="b").meta.endpoint_url
sys.exit("\\n".join(failed) or 0)
"""


def entered(given: Path, *command: str, user: str = "65532:65532") -> list[str]:
    """The command line that runs a command in the image; the folder `given` is /tmp/given there."""
    return ["unshare", "--mount", "sh", "-ec", _ENTER, "sh", str(ROOT), str(given), user, *command]


def run(given: Path, program: str, user: str = "65532:65532") -> subprocess.CompletedProcess[str]:
    """Python code, run in the image."""
    command = entered(given, "/usr/bin/python3.11", "-c", program, user=user)
    environment = {"PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def shared(kubeconfig: Path) -> Path:
    """A folder with that kubeconfig alone, which every user can read."""
    folder = kubeconfig.parent / "given"
    folder.mkdir()
    (folder / "kubeconfig").write_text(kubeconfig.read_text())
    return folder


def status_of(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def test_the_operator_answers_its_probes_and_scales_as_a_user_that_can_write_nothing(tmp_path: Path) -> None:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        await world.create(deployment(), scaled_object(*ALWAYS))
        given = shared(world.kubeconfig)
        probes = f"{LOOPBACK}:{free_port()}"
        flags = ["--secure-port=0", "--webhook-port=0", "--metrics-bind-address=0", "--state-dir=/tmp/state"]
        flags += ["--kubeconfig=/tmp/given/kubeconfig", f"--health-probe-bind-address={probes}"]
        command = entered(given, "/usr/bin/keda-py", "operator", *flags)
        environment = {"PATH": "/usr/bin:/usr/sbin:/bin:/sbin"}
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=environment)
        try:
            await eventually(lambda: world.replicas() == 1, 60)
            async with httpx.AsyncClient(trust_env=False) as client:
                answers = [(await client.get(f"http://{probes}/{path}")).status_code for path in ("healthz", "readyz")]
            told_by_kernel = status_of(process.pid)
        finally:
            process.terminate()
            _, told = await process.communicate()
    assert process.returncode == 0, told.decode()
    assert answers == [200, 200]
    assert "\nUid:\t65532\t65532\t65532\t65532\n" in told_by_kernel


def test_not_even_root_writes_to_its_file_system(tmp_path: Path) -> None:
    done = run(tmp_path, "open('/usr/new', 'w')", user="0:0")
    assert "Read-only file system" in done.stderr


def test_every_trigger_type_every_compiled_library_and_every_aws_service_of_ours_loads(tmp_path: Path) -> None:
    done = run(tmp_path, _LOADED)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_scaler_of_ones_own_is_found_where_the_example_copies_it(tmp_path: Path) -> None:
    """Read from /tmp/given here, since nothing can be copied into the image."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    packages = tmp_path / "packages"
    packages.mkdir()
    subprocess.run([*install, str(packages), str(TOP / "examples/custom-scaler")], check=True)
    program = "import sys; sys.path.insert(0, '/tmp/given'); from keda_py.sdk.registry import scaler_class\n"
    done = run(packages, program + "print(scaler_class('acme-queue').__name__)")
    assert (done.stdout, done.stderr) == ("AcmeQueueScaler\n", "")


def test_it_trusts_the_public_authorities(tmp_path: Path) -> None:
    done = run(tmp_path, "import ssl, sys; sys.exit(len(ssl.create_default_context().get_ca_certs()) < 100)")
    assert (done.returncode, done.stderr) == (0, "")


def test_there_is_no_shell_in_it_no_installer_and_no_program_that_changes_its_user() -> None:
    assert [name for name in ("bin/sh", "usr/bin/sh", "usr/bin/dpkg", "usr/bin/pip") if (ROOT / name).exists()] == []
    files = (path.lstat() for path in ROOT.rglob("*"))
    assert not [one for one in files if stat.S_ISREG(one.st_mode) and one.st_mode & (stat.S_ISUID | stat.S_ISGID)]


def test_it_takes_less_room_than_the_documents_say() -> None:
    size = sum(path.lstat().st_blocks for path in ROOT.rglob("*")) * 512
    assert size < MOST_MEGABYTES * 1_000_000
