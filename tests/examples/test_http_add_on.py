"""http-add-on: KEDA's HTTP add-on as its scaler speaks on the wire; its other parts need no KEDA."""

from pathlib import Path

from tests.examples.play import play
from tests.localkube.kubectl import needs_kubectl
from tests.scalers.grpc.http_add_on import definition, http_add_on
from tests.waiting import eventually

ADDRESS = "keda-add-ons-http-external-scaler.keda:9090"


@needs_kubectl
async def test_a_request_wakes_the_service_and_more_of_them_scale_it(tmp_path: Path) -> None:
    async with http_add_on() as add_on, play(tmp_path, "http-add-on", {ADDRESS: add_on.address}) as at:
        add_on.targets["default/shop"] = {"concurrency": 20}
        await at.world.apply(definition("InterceptorRoute", "v1beta1"))
        await at.apply()
        await eventually(lambda: add_on.open_streams == 1)
        assert at.replicas("shop") == 0
        add_on.pending["default/shop"] = 75
        add_on.tick()
        await eventually(lambda: at.replicas("shop") == 1)
        assert add_on.ticks == 1
        await at.seconds(60)
        assert at.replicas("shop") == 4
        await at.shows()
        add_on.pending.clear()
        await at.seconds(150)
        assert at.replicas("shop") == 0
