"""custom-resource: a kind that nobody has heard of, scaled through its scale subresource."""

import json
import shlex
from pathlib import Path

from tests.examples.play import Play, play
from tests.localkube.kubectl import needs_kubectl

PLAN = "kubectl patch configmap plan --type=merge --patch "


def fleet(at: Play) -> int:
    count: int = at.get("Fleet", "runners", api_version="example.com/v1")["spec"].get("replicas", 0)
    return count


async def control(at: Play) -> None:
    """What the kind's own controller writes: without a selector no HPA scales it."""
    status = {"status": {"replicas": fleet(at), "selector": "fleet=runners"}}
    patch = shlex.quote(json.dumps(status))
    await at.answer(f"kubectl patch fleet runners --subresource=status --type=merge --patch {patch}")


@needs_kubectl
async def test_a_fleet_follows_the_number_in_a_config_map(tmp_path: Path) -> None:
    async with play(tmp_path, "custom-resource") as at:
        await at.apply("definition")
        await at.apply()
        assert fleet(at) == 0
        await control(at)
        await at.answer(PLAN + """'{"data": {"builds": "18"}}'""")
        await at.seconds(75)
        assert fleet(at) == 5
        await at.shows()
        await at.answer(PLAN + """'{"data": {"builds": "0"}}'""")
        await at.seconds(150)
        assert fleet(at) == 0
