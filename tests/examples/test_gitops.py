"""gitops: what a tool that applies the same manifests again and again does to the count."""

from pathlib import Path

from tests.examples.play import Play, play
from tests.localkube.kubectl import needs_kubectl

FLUX = "kubectl apply --server-side --field-manager=kustomize-controller --force-conflicts -f"


async def synced(at: Play) -> int:
    """What the next round of the tool leaves behind, before anybody has reacted."""
    outcome = await at.kubectl.try_run(*f"{FLUX} {at.folder}".split()[1:])
    assert outcome.code == 0, outcome.err
    return at.replicas("web")


@needs_kubectl
async def test_a_round_without_replicas_leaves_the_count_alone_and_one_with_it_does_not(tmp_path: Path) -> None:
    async with play(tmp_path, "gitops") as at:
        await synced(at)
        await at.seconds(45)
        assert at.replicas("web") == 3
        assert await synced(at) == 3
        await at.shows()
        manifest = at.folder / "web.yaml"
        manifest.write_text(manifest.read_text().replace("  # No replicas: the count is not Git's.", "  replicas: 1"))
        assert await synced(at) == 1
        await at.seconds(30)
        assert at.replicas("web") == 3, "the HPA puts it right, until the next round"


@needs_kubectl
async def test_taking_replicas_out_of_an_applied_manifest_sets_the_count_to_one_for_a_moment(tmp_path: Path) -> None:
    async with play(tmp_path, "gitops") as at:
        at.left.clear()  # shown by the other test
        manifest = at.folder / "web.yaml"
        without = manifest.read_text()
        manifest.write_text(without.replace("  # No replicas: the count is not Git's.", "  replicas: 3"))
        await at.apply()
        await at.seconds(40)
        assert at.replicas("web") == 3
        manifest.write_text(without)
        await at.answer(f"kubectl apply -f {at.folder}")
        assert at.replicas("web") == 1
        await at.seconds(30)
        assert at.replicas("web") == 3
