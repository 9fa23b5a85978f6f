"""job-at-night: the night to Saturday of a namespace in Seoul."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl

SATURDAY = datetime(2026, 11, 21, tzinfo=ZoneInfo("Asia/Seoul"))


@needs_kubectl
async def test_the_database_wakes_for_the_job_and_nothing_else_does(tmp_path: Path) -> None:
    async with play(tmp_path, "job-at-night") as at:
        await at.apply()

        def state() -> tuple[int, int, bool]:
            job = at.get("CronJob", "report", "shop", "batch/v1")
            return (
                at.replicas("web", namespace="shop"),
                at.replicas("db", "StatefulSet", "shop"),
                job["spec"]["suspend"],
            )

        await at.until(SATURDAY.replace(hour=1))
        assert state() == (0, 0, True)
        await at.until(SATURDAY.replace(hour=2, minute=10))
        assert state() == (0, 1, False)
        await at.shows()
        await at.until(SATURDAY.replace(hour=4))
        assert state() == (0, 0, True)
        await at.until(SATURDAY.replace(day=23, hour=9))
        assert state() == (2, 1, False)
