"""In which order test files are begun, so that no core is idle while others wait for real time.

Processes take one file after the other. About half of all their time is spent in a few files that wait for the embedded
cluster or for a server; begun together they leave the cores idle, and begun last one of them keeps a single process
busy at the end. So both kinds are mixed from the first file to the last, in each kind the longest first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

SHORT: Final = (0.6, 0.4)
LONG: Final = {
    "e2e/test_cron": (3, 60), "e2e/test_bad_sources": (4, 52), "e2e/test_polling": (3, 51),
    "environments/test_several": (13, 40), "scalers/recorded/test_bad_answers": (6, 37), "e2e/test_process": (7, 36),
    "demo/test_demo_run": (11, 31), "operator/standby/test_fail_over": (7, 32), "packaging/test_e2e_script": (9, 30),
    "operator/environments/test_sessions_of_prometheus": (4, 24), "faults/test_api_server": (13, 20), "demo/test_frames": (8, 24), "scalers/test_rabbitmq": (5, 31),
    "charts/test_rights": (18, 37), "e2e/test_activation": (4, 25), "operator/admission/webhook/test_process": (5, 23),
    "charts/test_install": (9, 16), "e2e/test_kill": (7, 18), "examples/test_custom_scaler": (6, 18),
    "packaging/test_image_commands": (5, 18), "answers/test_workers": (2, 2), "docs/test_tutorial": (6, 16),
    "kube/test_thin_import": (5, 5), "charts/test_waker_rights": (1, 6), "cli/test_cli": (5, 15),
    "waker/test_protocols": (3, 16), "kube/test_informer": (1, 17), "kube/test_lease": (1, 32),
    "operator/environments/weeks/test_four_weeks": (15, 1), "charts/test_scraped": (2, 6), "e2e/test_explain": (3, 12),
    "dashboard/test_dashboard": (3, 3), "e2e/test_hpa": (0, 15), "packaging/test_upgrade": (6, 9),
    "packaging/test_release": (7, 7), "e2e/test_bad_input": (4, 10), "operator/cluster_environments/test_kill": (12, 2),
    "scalers/recorded/test_http": (4, 6), "scalers/test_redis_topologies": (1, 16), "serving/test_https": (3, 11),
    "operator/standby/test_rolling_update": (7, 6), "kube/test_membership": (3, 31),
    "localkube/apiserver/test_server": (1, 13), "operator/scaled_objects/test_life_of_objects": (3, 9),
    "operator/environments/test_native_hpas": (12, 0), "operator/waking/test_environments": (11, 1),
    "operator/sharding/test_shards": (6, 6), "e2e/test_pausing": (4, 8), "operator/shadow/test_shadow": (4, 8),
    "operator/sharding/test_whole_cluster": (6, 5), "operator/waking/test_scaled_objects": (10, 1),
    "serving/test_memory": (3, 17), "packaging/test_image_root": (4, 7), "localkube/test_kubectl": (6, 5),
    "packaging/test_attachments": (2, 6), "operator/waking/test_requests": (7, 1), "auth/test_rotation": (2, 7),
    "operator/process/test_kill": (5, 2), "faults/test_meddling": (6, 1), "advice/test_unseen_habits": (7, 0),
    "typing/test_typing": (5, 2), "localkube/controllers/test_hpa_recordings": (3, 2), "operator/test_otel": (3, 4),
    "operator/cluster/test_blindness": (2, 5), "charts/test_monitoring": (2, 1),
    "operator/cloud_events/test_sources": (6, 0), "core/advice/test_properties": (6, 0),
    "operator/sharding/test_hand_over": (3, 3), "parity/test_recordings": (6, 0),
    "operator/process/test_quarantine": (5, 1), "operator/explain/test_rules": (6, 0),
    "operator/scaled_objects/test_pushes": (3, 3), "packaging/test_community": (1, 5), "parity/test_pause": (6, 0),
    "operator/explain/test_insight": (5, 1), "parity/test_ownership": (6, 0),
    "operator/scaled_objects/test_growth": (6, 0), "operator/waking/test_replicas": (2, 4),
    "operator/cluster_environments/test_kind": (5, 0), "operator/cluster_environments/test_hundreds": (4, 0),
    "operator/environments/test_neighbours": (5, 0), "operator/gitops/test_truces": (5, 0),
    "charts/test_golden": (2, 1), "check_trigger/test_check_trigger": (3, 2),
    "operator/admission/test_admission": (5, 0), "cli/test_completion": (3, 2), "environments/test_commands": (2, 3),
    "operator/admission/webhook/test_idleness": (5, 0), "operator/environments/test_idleness": (5, 0),
    "operator/environments/test_people": (5, 0), "operator/scaled_objects/test_own_annotations": (5, 0),
    "operator/waking/test_cycles": (4, 7), "operator/waking/test_dead_wakers": (5, 7), "operator/waking/test_waker_process": (6, 6),
    "operator/waking/test_kill": (5, 0), "packaging/test_release_steps": (3, 2),
    "operator/waking/test_scaled_objects_of_shards": (2, 3),
    "operator/scaled_objects/test_http_add_on": (3, 1), "operator/test_metrics_page": (3, 1),
    "operator/sharding/test_processes": (4, 0), "e2e/test_status": (1, 3), "examples/test_nightly_environments": (3, 1),
    "operator/environments/test_kill": (4, 0), "operator/scaled_objects/test_bad_input": (4, 0),
    "scalers/databases/test_mongodb": (1, 10), "advice/test_command": (4, 0), "auth/test_vaults": (2, 2),
    "operator/standby/test_sharing": (4, 0), "parity/test_fallback": (4, 0), "advice/test_prometheus": (4, 0),
    "operator/environments/test_scaled_objects": (4, 0), "parity/test_status": (4, 0),
    "scalers/contract/test_bad_servers": (14, 13), "operator/environments/test_deletion": (15, 0),
    "operator/advising/test_watch": (12, 8), "terminal/test_foreign_text": (14, 2), "advice/test_limits": (6, 0),
    "scalers/contract/test_leaks": (6, 6), "waker/test_process": (5, 4), "waker/test_browser": (5, 6),
    "operator/gitops/test_flux": (4, 0), "terminal/test_table": (4, 1), "operator/gitops/test_kill": (3, 0),
    "core/cron/test_cron_walk": (3, 0), "scalers/test_etcd": (2, 6), "scalers/test_hostile_answers": (4, 5),
    "kube/test_restored_cluster": (0, 11), "operator/environments/test_kind": (3, 0),
    "operator/environments/test_overrides": (3, 0),
    "serving/test_small_http": (2, 34), "scalers/test_redis_events": (1, 13),
    "scalers/databases/test_slow_neighbours": (1, 12), "scalers/grpc/test_external": (0, 11),
    "serving/test_callers": (2, 5), "scalers/monitoring/test_graphite": (0, 7), "serving/test_floods": (1, 5),
    "scalers/test_nats_jetstream": (1, 5), "serving/test_prompt": (0, 5), "scalers/test_answer_costs": (2, 3),
    "scalers/databases/test_mysql": (1, 4), "scalers/databases/test_clickhouse": (1, 4),
    "charts/test_shards": (1, 4), "core/environment/test_four_weeks": (4, 0),
}  # fmt: skip
"""Seconds of CPU and seconds of waiting, of the files that take longest on 2 cores: a measure, not a limit."""

TOGETHER: Final = {
    "moto": ("scalers/aws/", "scalers/test_aws_sqs_queue.py", "scalers/test_operator_identity.py"),
    "first e2e": ("e2e/test_cron", "e2e/test_polling", "e2e/test_activation", "e2e/test_status", "e2e/test_targets"),
    "second e2e": ("e2e/",),
}
"""Files that share something dear for a session, by the beginnings of their names; one process runs all of a row.

moto's server takes seconds of CPU to start. A cluster and an operator as processes take three seconds and 110 MB, so two
of six have them; half of what these files wait for is in each row.
"""


def group(nodeid: str) -> str:
    """Name what one process runs without a break: the test's file, or its row of `TOGETHER`."""
    name = nodeid.removeprefix("tests/")
    rows = (row for row, beginnings in TOGETHER.items() if name.startswith(beginnings))
    return next(rows, nodeid.partition("::")[0])


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
