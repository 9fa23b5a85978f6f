"""The whole demo, some virtual days of it, as a person runs it."""

import subprocess
import sys
from pathlib import Path

import re2


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    common = ["--plain", "--picture", "days.svg", "--kubeconfig", "kubeconfig"]
    command = [sys.executable, "-m", "keda_py", "demo", *arguments, *common]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_day_of_the_demo_wakes_and_sleeps_on_time_and_leaves_a_picture(tmp_path: Path) -> None:
    ran = run(tmp_path, "--days", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # A busy machine may show the change two virtual seconds late: what the demo itself tolerates.
    assert re2.search(r"19:35:0[0-2]  some-application-develop   \d -> 0", ran.stdout), ran.stdout
    assert re2.search(r"08:30:0[0-2]  some-application-develop   0 -> 1", ran.stdout), ran.stdout
    assert "every change happened at the expected time" in ran.stdout
    assert (tmp_path / "days.svg").read_text().startswith("<svg")
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o077 == 0


def test_four_days_of_an_environment_with_an_override_a_contest_and_a_holiday_end_as_expected(tmp_path: Path) -> None:
    ran = run(tmp_path, "--environments", "--days", "4")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re2.search(r"Mon 22 Dec 22:00:0\d  web +2 -> 0  wave front falls asleep", ran.stdout), ran.stdout
    assert re2.search(r"Tue 23 Dec 19:50:0\d  web +0 -> 2  put back by argocd-controller", ran.stdout), ran.stdout
    thursday = [line for line in ran.stdout.splitlines() if line.startswith("Thu 25 Dec")]
    assert [line.partition("  ")[2] for line in thursday] == ["shop is asleep: holiday: Christmas Day"]
    for told in (
        r"Mon 22 Dec 08:32:4\d  shop does not wait for wave core any longer",
        r"Mon 22 Dec 08:33:\d\d  shop is awake: .*; not ready: Deployment/search",
        r"Mon 22 Dec 19:00:0\d  shop is awake: Override release",
        r"Tue 23 Dec 19:50:0\d  shop is asleep, 1 still up: .*; Deployment/web: argocd-controller put its count back 2 times",
    ):
        assert re2.search(told, ran.stdout), ran.stdout
    assert re2.search(r"Fri 26 Dec 08:32:5\d  mail +0 -> 2  wave front wakes", ran.stdout), ran.stdout
    picture = (tmp_path / "days.svg").read_text()
    assert ">holiday: Christmas Day</text>" in picture
    assert ">a count was put back</text>" in picture
