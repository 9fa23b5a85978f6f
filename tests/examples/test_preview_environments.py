"""preview-environments: a preview sleeps two days after its last commit, and the next one wakes it."""

from pathlib import Path

from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl

DAY = 86_400


@needs_kubectl
async def test_a_preview_sleeps_when_it_is_idle_and_a_commit_wakes_it(tmp_path: Path) -> None:
    async with play(tmp_path, "preview-environments") as at:
        await at.apply("preview.yaml")
        await at.seconds(2 * DAY - 600)
        assert at.replicas("web") == 1
        await at.seconds(1200)
        assert at.replicas("web") == 0
        await at.shows()
        await at.shows()
        await at.shows()
        await at.seconds(120)
        assert at.replicas("web") == 1
        await at.shows()
