"""The rights that charts/keda-py gives: each is needed, and together they are enough."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.errors import KubeError
from keda_py.kube.resources import (
    API_SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    SERVICE_ACCOUNTS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from tests.charts import exercise
from tests.charts.installed import SHOP, Installed, installed
from tests.charts.rendering import Obj, render
from tests.charts.rights import given, noted
from tests.e2e.manifests import box_definition, cron, metrics_api, scaled_object
from tests.e2e.world import condition_of
from tests.http_server import http_server

TOKEN = {"boundServiceAccountToken": [{"parameter": "bound", "serviceAccountName": "work"}]}
WAYS: dict[str, dict[str, Any]] = {
    "everywhere": {},
    "one namespace": {
        "watchNamespace": SHOP,
        "permissions": {"operator": {"restrict": {"allowAllServiceAccountTokenCreation": True}}},
    },
    "few secrets": {
        "permissions": {
            "operator": {
                "restrict": {
                    "secret": True,
                    "serviceAccountTokenCreationRoles": [{"name": "work", "namespace": SHOP}],
                }
            }
        }
    },
}


async def hear_the_webhook(here: Installed) -> None:
    """A second ScaledObject on the same Deployment is not let in, once the webhook carries the operator's CA."""

    def trusted(live: Obj) -> bool:
        return all(one["clientConfig"].get("caBundle") for one in live["webhooks"])

    await here.world.until(VALIDATING_WEBHOOK_CONFIGURATIONS, trusted, "keda-admission")
    rival = scaled_object(cron("0 8 * * *", "0 20 * * *"), name="rival", scaleTargetRef={"name": "deployment"})
    with pytest.raises(KubeError, match="admission webhook"):
        await here.world.create(rival)


async def live(here: Installed, **tokens: Any) -> None:
    """Everything that the operator is for, none of it refused."""
    for api in ("v1beta1.external.metrics.k8s.io", "v1alpha1.insight.keda-py.dev"):
        await here.world.until(API_SERVICES, lambda live: condition_of(live, "Available")["status"] == "True", api)
    await here.world.client.create(SERVICE_ACCOUNTS, exercise.named("ServiceAccount", "work"))
    async with http_server() as server:
        await exercise.follow_sources(here, server, **tokens)
        await exercise.scale_up_and_down(here, server)
        await exercise.wait_for_targets(here, server)
        await exercise.change_hpas(here)
        await exercise.ask_around(here, server)
        await exercise.be_many_accounts(here)
        await exercise.spoil_the_certificates(here)
        await exercise.run_jobs(here, server)
        await exercise.follow_event_sources(here)
        assert here.refused == []
        await hear_the_webhook(here)  # its refusal counts, too, so it comes last


@pytest.mark.parametrize("way", WAYS)
async def test_no_request_of_the_operator_is_refused_and_no_right_is_idle(way: str, tmp_path: Path) -> None:
    values = WAYS[way]
    with noted() as used:
        async with installed(tmp_path, **values) as here:
            await live(here, **(TOKEN if "permissions" in values else {}))
    assert given(render(**values)) - used == set()


async def test_a_custom_target_that_is_missing_is_told_without_the_right_to_read_it(tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path) as here:
        await here.world.client.create(CUSTOM_RESOURCE_DEFINITIONS, box_definition(exercise.GROUP))
        target = {"apiVersion": f"{exercise.GROUP}/v1", "kind": "Box", "name": "box"}
        await here.world.create(scaled_object(metrics_api(f"{server.url}/busy"), scaleTargetRef=target))
        ready = await here.world.condition("Ready", "False")
        assert 'boxen.example.com "box" not found' in ready["message"]
        await here.world.event("ScaledObjectCheckFailed", words="doesn't exist, or doesn't expose /scale subresource")
