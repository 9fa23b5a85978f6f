"""advise: from a trace to hours, their preview, the merge, and what they saved a week later, in virtual time."""

import asyncio
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from keda_py.core.savings.statement import Prices, StatementPeriod
from keda_py.localkube.cluster import ClusterOptions
from keda_py.savings.pages import ClusterAccounts, statement
from keda_py.savings.reading import indexed, read_accounts
from keda_py.terminal.console import UNBOUNDED
from tests.examples.pages import Command
from tests.examples.play import Play, play
from tests.localkube.kubectl import needs_kubectl


async def typed(command: Command, at: Play, capsys: pytest.CaptureFixture[str]) -> str:
    """What keda-py prints in the example's folder."""
    words = [str(at.folder / word) if (at.folder / word).exists() else word for word in shlex.split(command.line)[1:]]
    await asyncio.to_thread(main, words)
    return capsys.readouterr().out.replace(f"{at.folder}/", "").rstrip("\n")


async def accounted(at: Play) -> str:
    """`keda-py savings`, told at the moment of the play."""
    now = at.world.clock.now()
    deployments = (await at.kubectl.json("get", "deployments", "-n", "shop"))["items"]
    environments = (await at.kubectl.json("get", "environments", "-n", "shop"))["items"]
    accounts = read_accounts([], indexed(deployments, "Deployment"), environments, now)
    period = StatementPeriod(month=f"{now:%Y-%m}", until=now)
    return str(statement(ClusterAccounts(accounts=accounts), period, Prices(), UNBOUNDED)).rstrip("\n")


@needs_kubectl
async def test_hours_are_found_previewed_merged_and_pay_off_within_a_week(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with play(tmp_path, "advise", options=ClusterOptions(hpa_sync_seconds=300)) as at:
        for _ in range(3):
            for command in at.left.pop(0):
                assert await typed(command, at, capsys) == command.answer, f"$ {command.line}"
        manifest = ["web.yaml", "--trace", "requests.csv", "--timezone", "Europe/Berlin", "-o", "manifest"]
        found = await typed(Command(shlex.join(["keda-py", "advise", *manifest]), ""), at, capsys)
        assert found == (at.folder / "hours.yaml").read_text().rstrip("\n"), "hours.yaml is not what advise prints"
        await at.apply()
        await at.seconds(1200)
        await at.shows()
        trace = ["--trace", "requests.csv", "--timezone", "Europe/Berlin", "-n", "shop", "--diff", "--cluster"]
        asked = shlex.join(["keda-py", "advise", *trace, "--kubeconfig", str(at.world.kubeconfig)])
        told = await typed(Command(asked, ""), at, capsys)
        assert told.startswith("shop/web: your hours Mon-Thu 08:30-18:00, Fri 08:30-15:45 (Environment hours) fit; "), (
            told
        )
        counts = await walk_a_week(at)
        assert sum(counts) / len(counts) == pytest.approx(2 * predicted(found) / 168, abs=0.02)
        (last,) = at.left.pop(0)
        assert await accounted(at) == last.answer


async def walk_a_week(at: Play) -> list[int]:
    """Replicas of the application, each quarter of an hour."""
    counts = []
    for _ in range(7 * 24 * 4):
        await at.seconds(timedelta(minutes=15).total_seconds())
        counts.append(at.replicas("web", namespace="shop"))
    return counts


def predicted(manifest: str) -> float:
    """Hours a week that the manifest keeps it awake."""
    body: dict[str, Any] = yaml.safe_load(manifest)
    days = {"Mon-Thu": 4, "Fri": 1}
    hours = body["spec"]["calendar"]["hours"]
    return sum(days[one["days"]] * (of_day(one["to"]) - of_day(one["from"])) for one in hours)


def of_day(text: str) -> float:
    hour, minute = text.split(":")
    return int(hour) + int(minute) / 60
