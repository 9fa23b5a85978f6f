"""In which order test files are begun, so that no core is idle while others wait for real time.

Processes take one file after the other. About half of all their time is spent in a few files that wait for the embedded
cluster or for a server; begun together they leave the cores idle, and begun last one of them keeps a single process
busy at the end. So both kinds are mixed from the first file to the last, in each kind the longest first.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

SHORT: Final = (0.4, 0.2)
LONG: Final = {
    "e2e/test_cron": (0, 56), "e2e/test_bad_sources": (0, 55), "operator/admission/webhook/test_idleness": (3, 51),
    "e2e/test_polling": (0, 51), "scalers/test_rabbitmq": (4, 32), "e2e/test_process": (0, 36),
    "serving/test_small_http": (2, 34), "operator/standby/test_fail_over": (4, 30), "kube/test_lease": (1, 30),
    "kube/test_membership": (3, 26), "operator/admission/webhook/test_process": (2, 25),
    "charts/test_rights": (6, 20), "e2e/test_activation": (0, 25), "scalers/recorded/test_bad_answers": (3, 21),
    "operator/waking/test_replicas": (1, 21), "operator/environments/test_sessions_of_prometheus": (4, 17),
    "scalers/test_redis_topologies": (1, 20), "operator/sharding/test_shards": (2, 18),
    "docs/test_tutorial": (0, 19), "serving/test_memory": (3, 16), "charts/test_install": (6, 12),
    "e2e/test_kill": (0, 18), "faults/test_api_server": (7, 11), "operator/sharding/test_processes": (1, 17),
    "operator/sharding/test_whole_cluster": (3, 15), "kube/test_informer": (1, 16), "demo/test_frames": (0, 15),
    "e2e/test_hpa": (0, 15), "operator/environments/test_deletion": (14, 1), "serving/test_https": (3, 11),
    "operator/waking/test_scaled_objects_of_shards": (1, 12), "operator/waking/test_dead_wakers": (3, 10),
    "scalers/recorded/test_http": (4, 9), "localkube/apiserver/test_server": (1, 12),
    "scalers/contract/test_bad_servers": (1, 11), "scalers/test_redis_events": (1, 11),
    "scalers/databases/test_slow_neighbours": (1, 10), "scalers/grpc/test_external": (0, 11),
    "kube/test_restored_cluster": (0, 11), "e2e/test_explain": (0, 10), "operator/sharding/test_hand_over": (1, 9),
    "operator/standby/test_rolling_update": (3, 7), "scalers/databases/test_mongodb": (1, 9),
    "operator/process/test_kill": (3, 7), "operator/scaled_objects/test_pushes": (1, 8),
    "scalers/test_hostile_answers": (4, 5), "auth/test_rotation": (1, 7), "waker/test_browser": (3, 4),
    "operator/waking/test_cycles": (1, 6), "operator/process/test_watchdog": (0, 7), "waker/test_requests": (2, 5),
    "operator/waking/test_environments": (6, 1), "operator/environments/weeks/test_four_weeks": (7, 0),
    "charts/test_scraped": (1, 5), "scalers/test_etcd": (1, 5), "demo/test_demo_run": (0, 6),
    "operator/cluster/test_changes": (1, 5), "operator/scaled_objects/test_life_of_objects": (2, 4),
    "serving/test_floods": (1, 5), "operator/advising/test_watch": (1, 5), "test_forks": (5, 1),
    "serving/test_callers": (2, 4), "cli/test_cli": (2, 4), "operator/cloud_events/test_leading": (1, 5),
    "scalers/monitoring/test_graphite": (0, 5), "localkube/test_kubectl": (4, 1),
    "operator/environments/test_native_hpas": (5, 0), "examples/test_web_service": (1, 4),
    "operator/cluster/test_blindness": (1, 4), "operator/cluster_environments/test_kill": (4, 1),
    "scalers/contract/test_leaks": (1, 4), "packaging/test_image_commands": (3, 2),
    "scalers/test_nats_jetstream": (0, 5), "scalers/databases/test_postgresql": (2, 3),
    "charts/test_waker_rights": (1, 4), "serving/test_prompt": (0, 5), "operator/standby/test_pushes": (1, 4),
    "examples/test_custom_scaler": (0, 5), "check_trigger/test_check_trigger": (2, 3),
    "operator/explain/test_rules": (3, 2), "faults/test_registration": (1, 4),
    "scalers/databases/test_postgresql_notices": (1, 4), "scalers/databases/test_clickhouse": (1, 4),
    "test_programs": (2, 2), "advice/test_unseen_habits": (4, 0), "packaging/test_upgrade": (4, 0),
    "waker/test_protocols": (2, 2), "operator/explain/test_evidence": (2, 2), "packaging/test_e2e_script": (2, 2),
    "advice/test_further_habits": (3, 1), "readings/test_metric_streams": (0, 4), "e2e/test_status": (0, 4),
    "faults/test_meddling": (3, 1), "operator/waking/test_scaled_objects": (4, 0), "docs/test_headlamp": (1, 3),
    "operator/waking/test_waker_process": (0, 4), "operator/environments/test_hostile": (2, 2),
    "scalers/databases/test_mysql": (1, 3), "operator/scaled_objects/test_http_add_on": (1, 3),
    "external_metrics/test_upstream": (1, 3), "operator/waking/test_stale_wishes": (3, 1),
    "kube/test_thin_import": (4, 0), "dashboard/test_dashboard": (2, 2), "operator/waking/test_kill": (3, 1),
    "operator/environments/test_sessions": (2, 2), "operator/test_otel": (1, 3), "replay/test_judge": (3, 1),
    "operator/admission/webhook/test_server": (0, 3), "operator/waking/test_requests": (3, 0),
    "serving/test_ca_bundles": (0, 3), "sdk/test_grpc_server": (0, 3), "terminal/test_foreign_text": (1, 2),
    "operator/gitops/test_flux": (2, 1), "operator/scaled_objects/test_first_status": (1, 2),
    "operator/cluster_environments/test_growth": (3, 0), "operator/process/test_quarantine": (2, 1),
    "e2e/test_targets": (0, 3), "localkube/apiserver/test_apiserver_recordings": (0, 3),
    "operator/explain/test_insight": (2, 1), "scalers/test_amqp_link": (0, 3),
    "localkube/controllers/test_hpa_recordings": (3, 0), "operator/standby/test_ha": (1, 2),
    "e2e/test_pausing": (0, 3), "packaging/test_release": (3, 0), "advice/test_wake_order": (2, 1),
    "kube/test_client": (0, 3), "advice/test_minimum_schedules": (2, 1),
    "operator/scaled_jobs/test_scaled_jobs": (1, 2), "operator/admission/test_admission": (3, 0),
    "core/advice/test_properties": (3, 0), "typing/test_typing": (3, 0), "advice/test_prometheus": (3, 0),
    "scalers/openstack/test_openstack": (0, 3), "operator/waking/test_kept_down": (2, 1),
    "operator/environments/test_people": (2, 1), "operator/standby/test_sharing": (2, 1),
    "charts/test_golden": (2, 1), "parity/test_status": (2, 1), "auth/test_vaults": (1, 1),
    "auth/test_tenants": (1, 1), "net/http/test_transport": (0, 2), "parity/test_fallback": (2, 0),
    "readings/test_pushes": (0, 2), "operator/scaled_objects/test_savings": (1, 1),
}  # fmt: skip
"""Seconds of CPU and seconds of waiting, of the files that take longest on 2 cores: a measure, not a limit."""

TOGETHER: Final = {
    "moto": ("scalers/aws/", "scalers/test_aws_sqs_queue.py", "scalers/test_operator_identity.py"),
    "first e2e": ("e2e/test_cron", "e2e/test_polling", "e2e/test_activation", "e2e/test_status", "e2e/test_targets"),
    "second e2e": ("e2e/",),
}
"""Files that share something dear for a session, by the beginnings of their names; one process runs all of a row.

moto's server takes seconds of CPU to start. A cluster and an operator as processes take three seconds and 110 MB, so two
of eight have them; half of what these files wait for is in each row.
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
