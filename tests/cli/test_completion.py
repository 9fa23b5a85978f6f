"""What a shell offers at TAB: commands, flags, trigger types, and what is in the cluster."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keda_py.cli import main
from tests.builders import cron, scaled_job, scaled_object
from tests.programs.client import run
from tests.worlds.world import World, open_world


async def offered(line: str, folder: Path) -> list[str]:
    """As argcomplete's scripts ask, for fish."""
    answer = folder / "answer"
    asking = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "fish",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    await asyncio.to_thread(run, [], env={**os.environ, **asking})
    return answer.read_text(encoding="utf-8").split()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("keda-py ", {"operator", "explain", "validate", "completion"}),
        ("keda-py exp", {"explain"}),
        ("keda-py explain --w", {"--watch"}),
        ("keda-py operator --leader-elect", {"--leader-elect", "--leader-election-id"}),
        ("keda-py scalers redis-c", {"redis-cluster", "redis-cluster-streams"}),
        ("keda-py completion ", {"bash", "zsh", "fish"}),
    ],
)
async def test_a_shell_is_offered_what_may_follow(line: str, wanted: set[str], tmp_path: Path) -> None:
    found = set(await offered(line, tmp_path))
    assert wanted <= found
    assert line.endswith(" ") or found == wanted


BASH = """eval "$(keda-py completion bash)"; COMP_LINE="keda-py val"; COMP_POINT=11; COMP_TYPE=9
_python_argcomplete keda-py; echo "${COMPREPLY[@]}"
"""
FISH = """keda-py completion fish | source; complete -C "keda-py val"
"""
ZSH = """zmodload zsh/zpty; zpty shell zsh -f -i
zpty -w shell 'bindkey -e; autoload -Uz compinit; compinit -D -u; eval "$(keda-py completion zsh)"'
zpty -w -n shell $'keda-py val\t\x01print -r -- \n'
zpty -w shell exit
zpty -r shell all '*exit*exit*'; print -r -- $all
"""
"""In a terminal of its own: what TAB has made of the line is printed."""


@pytest.mark.parametrize(
    ("shell", "script"), [("bash", BASH), ("fish", FISH), ("zsh", ZSH)], ids=["bash", "fish", "zsh"]
)
def test_each_shell_takes_the_script_and_completes_by_it(shell: str, script: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (apt: {shell})")
    program = tmp_path / "keda-py"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m keda_py "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.getcwd(), "HOME": str(tmp_path)}
    done = subprocess.run([shell, "-c", script], env=env, capture_output=True, text=True, check=True, timeout=240)
    assert "validate" in done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_names_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "keda-py" in script
    assert "_ARGCOMPLETE" in script


@pytest.fixture
async def cluster(tmp_path: Path):
    async with open_world(tmp_path) as world:
        await world.create(scaled_object(cron()), scaled_job(cron()))
        yield world


async def test_names_and_namespaces_are_those_of_the_cluster(cluster: World, tmp_path: Path) -> None:
    line = f"keda-py explain --kubeconfig {cluster.kubeconfig}"
    assert await offered(f"{line} ", tmp_path) == ["default/app", "scaledjob/default/work"]
    assert await offered(f"{line} default/a", tmp_path) == ["default/app"]
    assert "kube-system" in await offered(f"{line} -n ", tmp_path)


async def test_without_a_cluster_no_names_are_offered_and_no_error_is_shown(tmp_path: Path) -> None:
    assert await offered(f"keda-py explain --kubeconfig {tmp_path}/missing ", tmp_path) == []


def test_nothing_of_completion_is_imported_until_a_shell_asks() -> None:
    code = (
        "import sys, keda_py.cli; keda_py.cli.main([]); print('argcomplete' in sys.modules, 'argparse' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.splitlines()[-1] == "False False"
