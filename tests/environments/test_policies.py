"""`keda-py env --cluster`: the sums of each ClusterEnvironment, and the namespaces that need a person."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.environments.overview import draw_policies, fields_of_policy
from keda_py.environments.show import look_at_all, look_at_one, look_at_policies
from keda_py.errors import ConfigError
from keda_py.terminal.times import Times
from tests.operator.cluster_environments.builders import policy, populate, switch_on
from tests.operator.environments.builders import until
from tests.worlds.world import open_world

TROUBLE = {"namespace": "shop", "reason": "Contested", "message": "argocd puts counts back"}


def stored(**status: Any) -> dict[str, Any]:
    return policy() | {"status": status}


def test_a_line_has_the_sums_and_each_namespace_that_needs_a_person_has_its_own() -> None:
    healthy = {"type": "Healthy", "status": "False"}
    live = stored(namespaces={"covered": 3, "asleep": 2, "contested": 1}, needsPerson=[TROUBLE], conditions=[healthy])
    lines = draw_policies([live], 200).plain.splitlines()
    (line,) = (line for line in lines if line.startswith("office"))
    assert line.split()[:8] == ["office", "3", "0", "2", "0", "1", "0", "0"]
    (below,) = (line for line in lines if "shop" in line)
    assert below.split(maxsplit=1) == ["shop", "Contested: argocd puts counts back"]
    assert fields_of_policy(live)["namespaces"]["awake"] == 0


def test_before_the_operator_has_looked_at_it_no_count_is_known() -> None:
    assert "does one run here, with --cluster-environments?" in draw_policies([policy()], 200).plain
    assert set(fields_of_policy(policy())["namespaces"].values()) == {None}


@pytest.mark.parametrize("status", [{"namespaces": 7}, {"needsPerson": [3, None]}, {"conditions": "no"}], ids=str)
def test_a_status_of_any_shape_is_drawn(status: dict[str, Any]) -> None:
    assert "office" in draw_policies([stored(**status)], 80).plain


async def test_it_reads_what_the_operator_writes(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await switch_on(world)
        await populate(world, "shop", "blog")
        await world.create(policy())
        await until(world, 20, "12:06")
        text, bodies = await look_at_policies(world.client, "", 200)
        assert [(body["name"], body["namespaces"]["asleep"]) for body in bodies] == [("office", 2)]
        assert "office" in text.plain
        times = Times(now=world.clock.now())
        page, _ = await look_at_one(world.client, "shop", "office", times, 200)
        assert "policy: ClusterEnvironment office writes its spec; edit that one" in page.plain
        table, _ = await look_at_all(world.client, "", times, 200)
        assert table.plain.count("ClusterEnvironment office writes its spec") == 2
        with pytest.raises(ConfigError, match="no ClusterEnvironment 'night': there are office"):
            await look_at_policies(world.client, "night", 200)
