"""One poll of an object of which nothing changes, followed from file to file: it takes no task, and tells nothing."""

from tests.builders import deployment, metrics_api, scaled_object
from tests.operator.way import returns, watched_way
from tests.worlds.world import World

POLL = 10
MOST_FILES, MOST_RETURNS = 18, 15
LEFT_ALONE = {
    "core/evaluation.py",
    "core/decision.py",
    "core/round.py",
    "core/conditions.py",
    "operator/scaled_objects/report.py",
    "operator/scaled_objects/reporting.py",
    "operator/scaled_objects/status.py",
    "kube/status.py",
}


async def test_a_poll_that_finds_nothing_new_passes_few_files_and_returns_to_few(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL))
    await world.seconds(4 * POLL)
    with watched_way() as way:
        await world.seconds(POLL)
    assert not way.has("work ScaledObject/default/app")
    files = way.through("operator/controller/fast_path.py")
    assert not LEFT_ALONE & set(files)
    assert len(set(files)) <= MOST_FILES
    assert returns(files) <= MOST_RETURNS
