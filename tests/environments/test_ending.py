"""`keda-py end`: which Override is meant, and what is told of it; and members of other kinds on `keda-py env NAME`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keda_py.clock import FakeClock
from keda_py.environments.ending import Ending, end_overrides, offered
from keda_py.environments.show import look_at_one
from keda_py.errors import ConfigError
from keda_py.kube.resources import OVERRIDES
from keda_py.terminal.times import Times
from tests.builders import box_definition, boxen, environment, obj, override
from tests.environments.builders import NOW
from tests.worlds.world import World, open_world

TIMES = Times(now=NOW)
DEV, WEB = {"kind": "Environment", "name": "dev"}, {"kind": "Deployment", "name": "web"}
BOXES = "example.com"


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[World]:
    """No operator: what it would say stands in the statuses."""
    async with open_world(tmp_path, clock=FakeClock(NOW)) as quiet:
        yield quiet


async def given(quiet: World, name: str, ends: str, phase: str = "Active", **spec: Any) -> None:
    await quiet.create(override(name, state="Awake", until="2026-11-24T00:00:00Z", reason="release night", **spec))
    told = {"phase": phase, "starts": "2026-11-20T17:00:00Z", "ends": ends, "requestedBy": "jana"}
    await quiet.client.patch(OVERRIDES.named("default", name, "status"), {"status": told})


async def end(quiet: World, name: str = "", **wish: Any) -> list[str]:
    told, _ = await end_overrides(quiet.client, "default", Ending(name=name, **wish), TIMES)
    return told


def left(quiet: World) -> list[str]:
    return sorted(one["metadata"]["name"] for one in quiet.all(OVERRIDES, "default"))


async def test_the_only_override_of_what_is_named_ends_and_is_told(quiet: World) -> None:
    await given(quiet, "over", "2026-11-20T17:10:00Z", target=DEV)
    await given(quiet, "evening", "2026-11-20T22:00:00Z", target=DEV)
    await given(quiet, "lone", "2026-11-20T23:00:00Z", target=WEB)
    planned = await end(quiet, "dev", dry_run=True)
    assert planned[0] == "Override evening would end: dev kept awake until 22:00 UTC, by jana: release night"
    assert planned[-1] == "nothing is changed: --dry-run"
    assert left(quiet) == ["evening", "lone", "over"]
    assert await end(quiet, "dev") == [
        "Override evening is ended: dev kept awake until 22:00 UTC, by jana: release night",
        "Environment dev: its calendar rules again, at once",
    ]
    assert left(quiet) == ["lone", "over"]
    assert (await end(quiet))[0].startswith("Override lone is ended: Deployment web kept awake until 23:00 UTC")


async def test_of_several_none_ends_until_one_is_named(quiet: World) -> None:
    await given(quiet, "first", "2026-11-20T22:00:00Z", target=DEV)
    await given(quiet, "second", "2026-11-20T23:00:00Z")  # of the namespace's only Environment
    with pytest.raises(
        ConfigError, match="2 Overrides are meant, name one of them, or give --all: override/first: dev"
    ):
        await end(quiet, "dev")
    assert await end(quiet, "override/second") == [
        "Override second is ended: the Environment kept awake until 23:00 UTC, by jana: release night",
        "Environment: its calendar rules again, at once",
    ]
    await given(quiet, "third", "2026-11-20T23:00:00Z", target=DEV)
    assert (await end(quiet, "override/third"))[-1] == "Environment dev: Override first rules again, at once"
    assert len(await end(quiet, everything=True)) == 2
    assert left(quiet) == []


async def test_what_names_none_is_refused_with_what_there_is(quiet: World) -> None:
    with pytest.raises(ConfigError, match="namespace 'default' has no Override that has not ended: it has none at all"):
        await end(quiet)
    await given(quiet, "evening", "2026-11-20T22:00:00Z", target=DEV)
    for name in ("prod", "deployment/web", "override/even"):
        with pytest.raises(ConfigError, match="that has not ended: there are override/evening"):
            await end(quiet, name)
    with pytest.raises(ConfigError, match="'pod/web' names no target"):
        await end(quiet, "pod/web")


def test_a_shell_is_offered_targets_and_names_of_what_has_not_ended() -> None:
    lives = [override("evening", target=DEV), override("lone", target=WEB), override("over", target=WEB)]
    lives[-1]["status"] = {"phase": "Ended"}
    assert offered(lives) == ["deployment/web", "dev", "override/evening", "override/lone"]


async def test_members_of_other_kinds_stand_on_the_page(quiet: World) -> None:
    await quiet.create(box_definition(BOXES))
    await quiet.seconds(5)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    for name, size, more in (("one", 3, {}), ("owned", 1, {"ownerReferences": [owner]})):
        body = obj(f"{BOXES}/v1", "Box", name, "default", spec={"size": size})
        body["metadata"] |= more
        await quiet.client.create(boxen(BOXES), body)
    kinds = [{"apiVersion": f"{BOXES}/v1", "kind": "Box"}, {"apiVersion": f"{BOXES}/v1", "kind": "Crate"}]
    await quiet.create(environment(kinds=kinds))
    text, body = await look_at_one(quiet.client, "default", "dev", TIMES, 120)
    assert [(one["member"], one["state"], one["replicas"]) for one in body["members"]] == [
        ("Box/one", "not ready", "0/3")
    ]
    assert body["unread"] == ["Crate of example.com/v1, which the cluster does not know"]
    assert "left out" in text.plain
