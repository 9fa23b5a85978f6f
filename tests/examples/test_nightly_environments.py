"""nightly-environments: Christmas of three namespaces in Seoul."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from keda_py.localkube.cluster import ClusterOptions
from tests.examples.pages import ENVIRONMENTS
from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl

SEOUL = ZoneInfo("Asia/Seoul")
EVE, DAY = datetime(2026, 12, 24, 15, tzinfo=SEOUL), datetime(2026, 12, 25, 12, tzinfo=SEOUL)


@needs_kubectl
async def test_on_a_holiday_develop_sleeps_release_works_and_production_never_sleeps(tmp_path: Path) -> None:
    async with play(tmp_path, "nightly-environments", options=ClusterOptions(hpa_sync_seconds=300)) as at:
        await at.until(EVE)
        await at.apply()
        await at.seconds(60)
        await at.shows()

        def counts() -> dict[str, list[int]]:
            return {
                name: [
                    at.replicas(f"web-{name}", namespace=f"shop-{name}"),
                    at.replicas("mailer", namespace=f"shop-{name}"),
                    at.replicas("db", "StatefulSet", f"shop-{name}"),
                ]
                for name in ENVIRONMENTS
            }

        assert counts() == {"develop": [1, 2, 1], "release": [1, 2, 1], "production": [2, 2, 1]}
        await at.until(EVE.replace(hour=20))
        assert counts() == {"develop": [0, 0, 0], "release": [1, 2, 1], "production": [2, 2, 1]}
        await at.until(EVE.replace(hour=21))
        assert counts() == {"develop": [0, 0, 0], "release": [0, 0, 0], "production": [2, 2, 1]}
        await at.until(DAY)
        assert counts() == {"develop": [0, 0, 0], "release": [1, 2, 1], "production": [2, 2, 1]}
        assert [
            at.get("CronJob", "report", f"shop-{name}", "batch/v1")["spec"]["suspend"] for name in ENVIRONMENTS
        ] == [
            *(True, False),
            False,
        ]
        await at.shows()
