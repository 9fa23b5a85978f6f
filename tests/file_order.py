"""In which order test files are begun, so that no core is idle while others wait for real time.

Workers take one file after the other. About half of all their time is spent in a few files that wait for the embedded
cluster or for a server; begun together they leave the cores idle, and begun last one of them keeps a single worker
busy at the end. So both kinds are mixed from the first file to the last, in each kind the longest first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadFileScheduling

SHORT: Final = (0.6, 0.4)
LONG: Final = {
    "faults/test_api_server": (13, 20), "e2e/test_bad_sources": (0, 52), "e2e/test_polling": (0, 51),
    "charts/test_rights": (18, 12), "scalers/recorded/test_bad_answers": (11, 37), "e2e/test_process": (8, 36),
    "operator/standby/test_fail_over": (11, 32), "e2e/test_cron": (0, 60), "e2e/test_kill": (7, 18),
    "operator/admission/webhook/test_process": (10, 23), "scalers/test_rabbitmq": (9, 24),
    "e2e/test_activation": (0, 25), "operator/process/test_kill": (9, 3), "serving/test_memory": (2, 9),
    "operator/admission/test_admission": (18, 0), "operator/scaled_objects/test_life_of_objects": (9, 9),
    "kube/test_informer": (1, 16), "kube/test_lease": (1, 16), "validation/test_documents": (8, 0),
    "serving/test_https": (7, 9), "e2e/test_hpa": (0, 15), "operator/standby/test_rolling_update": (9, 6),
    "e2e/test_explain": (3, 12), "scalers/recorded/test_http": (6, 8), "scalers/test_redis_topologies": (1, 13),
    "localkube/test_kubectl": (14, 0), "localkube/apiserver/test_server": (1, 12), "parity/test_ownership": (11, 0),
    "telemetry/test_prometheus": (6, 5), "examples/test_nightly_scale_down": (9, 2), "demo/test_demo_run": (8, 0),
    "demo/test_frames": (7, 0), "operator/explain/test_evidence": (12, 2),
    "scalers/databases/test_mongodb": (9, 2), "operator/process/test_quarantine": (5, 2),
    "operator/process/test_innocents": (3, 0), "operator/explain/test_insight": (9, 0),
    "core/cron/test_cron_walk": (4, 0), "charts/test_install": (9, 0), "packaging/test_release": (9, 0),
    "parity/test_fallback": (9, 0), "auth/test_rotation": (2, 6), "operator/test_two_hundred_faults": (4, 0),
    "charts/test_waker_rights": (6, 18), "waker/test_protocols": (6, 16), "operator/test_otel": (3, 4),
    "packaging/test_e2e_script": (6, 30), "packaging/test_upgrade": (6, 9), "charts/test_scraped": (8, 10),
    "packaging/test_image_root": (4, 7), "packaging/test_release_steps": (9, 2),
    "operator/cluster/test_blindness": (2, 5), "typing/test_typing": (5, 0),
}  # fmt: skip
"""Seconds of CPU and seconds of waiting, of the files that take longest on 2 cores: a measure, not a limit."""

TOGETHER: Final = {
    "moto": ("scalers/aws/", "scalers/test_aws_sqs_queue.py", "scalers/test_operator_identity.py"),
    "first e2e": ("e2e/test_cron", "e2e/test_polling", "e2e/test_activation", "e2e/test_status", "e2e/test_targets"),
    "second e2e": ("e2e/",),
}
"""Files that share something dear for a session, by the beginnings of their names; one worker runs all of a row.

moto's server takes seconds of CPU to start. A cluster and an operator as processes take three seconds and 110 MB, so two
workers have them and not six; half of what these files wait for is in each row.
"""


class Files(LoadFileScheduling):
    """Each file is run by one worker, and files that go together by the same one."""

    def _split_scope(self, nodeid: str) -> str:
        name = nodeid.removeprefix("tests/")
        rows = (row for row, beginnings in TOGETHER.items() if name.startswith(beginnings))
        return next(rows, str(super()._split_scope(nodeid)))


def places(files: Iterable[Path], root: Path) -> dict[Path, int]:
    """Each file's place in the order; `root` is the folder that the names in `LONG` begin at."""
    known = {file: LONG.get(file.relative_to(root).with_suffix("").as_posix(), SHORT) for file in dict.fromkeys(files)}
    longest_first = sorted(known, key=lambda file: -sum(known[file]))
    waiting = [file for file in longest_first if known[file][1] > known[file][0]]
    busy = [file for file in longest_first if known[file][1] <= known[file][0]]
    return {file: place for place, file in enumerate(_mixed(waiting, busy, known))}


def _mixed(waiting: list[Path], busy: list[Path], known: dict[Path, tuple[float, float]]) -> Iterator[Path]:
    """Both lists, so that at any time the same share of each is done."""
    done: list[tuple[float, Path]] = []
    for files in (waiting, busy):
        whole, so_far = sum(sum(known[file]) for file in files), 0.0
        for file in files:
            done.append((so_far / whole, file))
            so_far += sum(known[file])
    return (file for _, file in sorted(done))
