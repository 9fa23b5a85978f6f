"""`wake`, `sleep`, `hold` and `end` of several targets: what will happen is listed, one question is asked, then done."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import orjson
import pytest

from keda_py.cli import main
from keda_py.clock import FakeClock
from keda_py.kube.resources import OVERRIDES, Obj
from tests.builders import a_namespace, environment, override
from tests.environments.builders import NOW
from tests.operator.environments.builders import labelled
from tests.terminal.pty_runs import run_on_terminal
from tests.worlds.world import World, open_world

UNTIL = ("--until", "2099-12-01T00:00:00Z")
STANDING = {"phase": "Active", "starts": "2026-11-20T17:00:00Z", "ends": "2099-12-01T00:00:00Z"}


@pytest.fixture
async def teams(tmp_path: Path) -> AsyncIterator[World]:
    """Two teams with Environments in two namespaces; no operator runs."""
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        await world.create(a_namespace("bank"))
        await world.create(
            labelled(environment("dev"), team="web"),
            labelled(environment("stage"), team="data"),
            labelled(environment("dev", "bank"), team="web"),
        )
        yield world


async def piped(world: World, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that has no terminal; `typed` starts the program itself."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("TZ", "UTC")
        code = await asyncio.to_thread(_run, [*arguments, "--kubeconfig", str(world.kubeconfig)])
    told = (stream.detach().getvalue().decode() for stream in (out, err))
    return code, *told


def _run(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as left:  # argparse refuses
        return int(left.code or 0)


async def typed(world: World, folder: Path, answer: bytes, *arguments: str) -> tuple[int, str]:
    """Exit code and what a person saw who typed that answer."""
    command = [*arguments, "--kubeconfig", str(world.kubeconfig)]
    code, seen = await asyncio.to_thread(
        run_on_terminal, command, columns=150, lines=40, folder=folder, env={"TZ": "UTC"}, typed=answer
    )
    return code, seen.decode()


def targets(world: World) -> list[tuple[str, str, str]]:
    """Namespace and target of each Override, and what it asks for."""
    found = [one for namespace in ("default", "bank") for one in world.all(OVERRIDES, namespace)]
    return sorted((one["metadata"]["namespace"], one["spec"]["target"]["name"], one["spec"]["state"]) for one in found)


async def test_several_names_are_listed_and_nothing_is_done_until_the_question_is_answered(
    teams: World, tmp_path: Path
) -> None:
    code, seen = await typed(teams, tmp_path, b"n\n", "wake", "dev", "stage", *UNTIL)
    assert (code, targets(teams)) == (1, [])
    assert "default: dev wakes now and stays awake until" in seen
    assert "default: stage wakes now and stays awake until" in seen
    assert "Create these 2 Overrides? [y/N]" in seen
    assert "nothing is changed" in seen
    code, seen = await typed(teams, tmp_path, b"y\n", "wake", "dev", "stage", *UNTIL)
    assert (code, targets(teams)) == (0, [("default", "dev", "Awake"), ("default", "stage", "Awake")])
    assert seen.count("[y/N]") == 1
    assert seen.count("to end it earlier: keda-py end override/") == 2


async def test_without_a_terminal_several_need_yes_and_one_does_not(teams: World) -> None:
    code, out, err = await piped(teams, "sleep", "-A", *UNTIL)
    assert (code, out, targets(teams)) == (2, "", [])
    assert "bank: dev goes to sleep now" in err
    assert "--yes: Create these 3 Overrides? There is no terminal to ask at; add --yes to do it, or --dry-run" in err
    code, _, _ = await piped(teams, "hold", "dev", *UNTIL)
    assert (code, targets(teams)) == (0, [("default", "dev", "Hold")])


async def test_labels_choose_environments_of_a_namespace_or_with_all_namespaces_of_the_cluster(teams: World) -> None:
    code, out, _ = await piped(teams, "sleep", "-l", "team=web", "--yes", "-o", "json", *UNTIL)
    assert (code, targets(teams)) == (0, [("default", "dev", "Asleep")])
    assert [one["spec"]["target"]["name"] for one in orjson.loads(out)] == ["dev"]
    await piped(teams, "wake", "-A", "-l", "team=web", "-y", *UNTIL)
    assert targets(teams) == [("bank", "dev", "Awake"), ("default", "dev", "Asleep"), ("default", "dev", "Awake")]


async def test_a_dry_run_lists_what_would_happen_and_asks_nothing(teams: World) -> None:
    code, out, _ = await piped(teams, "sleep", "-A", "--dry-run", *UNTIL)
    lines = out.splitlines()
    assert (code, targets(teams), lines[-1]) == (0, [], "nothing is created: --dry-run")
    assert [line.split(" goes")[0] for line in lines[:-1]] == ["bank: dev", "default: dev", "default: stage"]


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("wake", "dev", "prod", "pod/web"), "no Environment 'prod' in namespace 'default': there are dev, stage; NAME: 'pod/web'"),
    (("wake", "-l", "team=none"), "namespace 'default' has no Environment with labels 'team=none'"),
    (("wake", "-l", "team in"), "-l: 'team in' is no selector"),
    (("sleep", "dev", "-A"), "-A and -l choose by themselves; leave them out, or the names"),
    (("end", "-A", "-n", "bank"), "-A is for every namespace; leave it out, or -n"),
    (("end", "-A", "--yes"), "there is no Override that has not ended"),
]  # fmt: skip


async def test_what_cannot_be_chosen_is_refused_before_anything_is_done(teams: World) -> None:
    for arguments, words in REFUSED:
        code, out, err = await piped(teams, *arguments, *(() if arguments[0] == "end" else ("--yes", *UNTIL)))
        assert (code, out, targets(teams)) == (2, "", [])
        assert words in err


async def given(world: World, name: str, target: str, namespace: str = "default") -> None:
    spec: dict[str, Any] = {"target": {"kind": "Environment", "name": target}, "until": STANDING["ends"]}
    await world.create(override(name, namespace, state="Awake", **spec))
    await world.client.patch(OVERRIDES.named(namespace, name, "status"), {"status": STANDING})


async def test_end_takes_several_names_labels_and_all_namespaces_after_one_question(
    teams: World, tmp_path: Path
) -> None:
    for name, target, namespace in [("one", "dev", "default"), ("two", "stage", "default"), ("three", "dev", "bank")]:
        await given(teams, name, target, namespace)
    code, seen = await typed(teams, tmp_path, b"y\n", "end", "-A", "-l", "team=web")
    assert (code, targets(teams)) == (0, [("default", "stage", "Awake")])
    assert "End these 2 Overrides? [y/N]" in seen
    assert "bank: Override three would end: dev kept awake until" in seen
    assert "bank: Override three is ended" in seen
    await given(teams, "four", "dev")
    code, _, err = await piped(teams, "end", "dev", "stage")
    assert (code, len(targets(teams))) == (2, 2)
    assert "--yes: End these 2 Overrides?" in err
    code, out, _ = await piped(teams, "end", "dev", "stage", "--yes")
    assert (code, targets(teams)) == (0, [])
    assert "Environment dev: its calendar rules again, at once" in out


async def test_what_is_refused_for_one_is_told_and_the_others_are_done(teams: World) -> None:
    await teams.create(_refusing_in("bank"))
    code, out, err = await piped(teams, "wake", "-A", "--yes", *UNTIL)
    assert (code, targets(teams)) == (1, [("default", "dev", "Awake"), ("default", "stage", "Awake")])
    assert "1 of 3 failed: bank: dev wakes now and stays awake until" in err
    assert out.count("is created") == 2


def _refusing_in(namespace: str) -> Obj:
    """A webhook that lets no new Override pass in a namespace."""
    rule = {"apiGroups": ["keda-py.dev"], "apiVersions": ["*"], "resources": ["overrides"], "operations": ["CREATE"]}
    hook = {"name": "no.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1/"}}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    hook |= {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return kind | {"metadata": {"name": "no"}, "webhooks": [hook]}
