"""The demo of environments, four virtual days of it, as a person runs it whose terminal is a pipe."""

from pathlib import Path

import re2

from tests.programs.client import run


def told_at_night(lines: list[str]) -> list[str]:
    """What a person sees of the wake on Monday night, and which waves begin."""
    night = [line for line in lines if line.startswith(("Mon 22 Dec 22:1", "Tue 23 Dec 00:"))]
    return [line[11:] for line in night if "visitor" in line or "wave" in line]


def test_four_days_of_an_environment_with_an_override_a_contest_and_a_holiday_end_as_expected(tmp_path: Path) -> None:
    flags = ["--plain", "--picture", "days.svg", "--kubeconfig", "kubeconfig"]
    ran = run(["demo", "--environments", "--days", "4", *flags], cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # It falls asleep once its Service leads to the waker, and nodes have had the time to follow.
    assert re2.search(r"Mon 22 Dec 22:00:[0-2]\d  web +2 -> 0  wave front falls asleep", ran.stdout), ran.stdout
    night = "\n".join(told_at_night(ran.stdout.splitlines()))
    because = "woken by a request to web from 127.0.0.1, Mozilla, until tomorrow 00:10 KST"
    assert f"shop is awake: {because}" in ran.stdout
    order = (
        '22:10:00  visitor opens http://web and sees a page: "shop is waking up. ',
        r"22:10:0\d  db +0 -> 2  wave data wakes",
        f"22:10:4.  auth +0 -> 2  wave core wakes: {because}",
        '22:11:30  visitor sees the page reload: "shop is waking up. Ready: 5/9. ',
        f"22:12:5.  web +0 -> 2  wave front wakes: {because}",
        '22:13:30  visitor has the answer to the request that waited, .*: "welcome to the shop"',
        r"00:10:[0-2]\d  web +2 -> 0  wave front falls asleep",
    )
    assert re2.search("(?s)" + ".*".join(order), night), night
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
    policy = [line for line in ran.stdout.splitlines() if "by ClusterEnvironment office" in line]
    assert [line[:17] for line in policy][:3] == ["Mon 22 Dec 06:00:", "Mon 22 Dec 08:30:", "Mon 22 Dec 19:30:"]
    picture = (tmp_path / "days.svg").read_text()
    assert ">holiday: Christmas Day</text>" in picture
    assert ">woken by a request</text>" in picture
    assert ">a count was put back</text>" in picture
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o077 == 0
