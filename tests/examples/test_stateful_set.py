"""stateful-set: caches by the number of pods that use them."""

from pathlib import Path

from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl


@needs_kubectl
async def test_a_cache_comes_with_every_third_pod_that_uses_it(tmp_path: Path) -> None:
    async with play(tmp_path, "stateful-set") as at:
        await at.apply()
        await at.seconds(30)
        assert at.replicas("cache", "StatefulSet") == 1
        await at.answer("kubectl scale deployment web --replicas=8")
        await at.seconds(45)
        assert at.replicas("cache", "StatefulSet") == 3
        await at.shows()
        await at.answer("kubectl scale deployment web --replicas=2")
        await at.seconds(400)
        assert at.replicas("cache", "StatefulSet") == 1
