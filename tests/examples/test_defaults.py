"""defaults: what the platform and a team say once is in force under KEDA's manifest, and no manifest goes beyond a bound."""

from pathlib import Path

from keda_py.preview.command import read_sources
from keda_py.replay.reading.manifests import read_plans
from tests.examples.pages import EXAMPLES, readme
from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl
from tests.worlds.world import NOON


@needs_kubectl
async def test_defaults_are_in_force_and_a_bound_holds(tmp_path: Path) -> None:
    async with play(tmp_path, "defaults", flags={"keda-defaults": "true"}) as at:
        await at.apply()
        await at.shows()
        await at.shows()
        await at.seconds(5)
        await at.shows()


def test_the_page_says_what_preview_says() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted((EXAMPLES / "defaults").glob("*.yaml"))}
    sources, errors = read_sources(texts)
    assert errors == []
    (told,) = [one.remarks for plan in read_plans(sources, NOON, NOON) for one in plan.objects]
    assert "\n".join(told) in readme(EXAMPLES / "defaults")
