"""The whole demo, one virtual day of it, as a person runs it."""

import subprocess
import sys
from pathlib import Path

import re2


def test_a_day_of_the_demo_wakes_and_sleeps_on_time_and_leaves_a_picture(tmp_path: Path) -> None:
    arguments = ["demo", "--days", "1", "--plain", "--picture", "day.svg", "--kubeconfig", "kubeconfig"]
    ran = subprocess.run(
        [sys.executable, "-m", "keda_py", *arguments],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # A busy machine may show the change two virtual seconds late: what the demo itself tolerates.
    assert re2.search(r"19:35:0[0-2]  some-application-develop   \d -> 0", ran.stdout), ran.stdout
    assert re2.search(r"08:30:0[0-2]  some-application-develop   0 -> 1", ran.stdout), ran.stdout
    assert "every change happened at the expected time" in ran.stdout
    assert (tmp_path / "day.svg").read_text().startswith("<svg")
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o077 == 0
