"""The right that `environments.argocdApplications` adds: enough for the lines in Applications, and given only then."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.kube.resources import APPLICATIONS, DEPLOYMENTS, ENVIRONMENTS, OVERRIDES
from tests.builders import deployment, environment, override
from tests.charts.installed import SHOP, Installed, installed
from tests.charts.rendering import render
from tests.charts.rights import given, noted
from tests.operator.gitops.argo import DEFINITION, application

ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
ON = {"environments": {"argocdApplications": True}}


async def fall_asleep(here: Installed) -> None:
    await here.cluster.apply([DEFINITION])
    shop = application({"web": 2})
    shop["metadata"]["namespace"] = SHOP
    shop["status"]["resources"][0]["namespace"] = SHOP
    await here.scene.create(shop, deployment("web", 2))
    peace = {"argocd": "IgnoreReplicas"}
    await here.scene.create(environment(calendar=ALWAYS, gitops=peace))
    await here.scene.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}, **{"for": "1h"}))
    await here.scene.until(DEPLOYMENTS, lambda live: live["spec"]["replicas"] == 0, "web")


async def test_the_rights_are_enough_and_each_is_made_use_of(tmp_path: Path) -> None:
    with noted() as used:
        async with installed(tmp_path, **ON) as here:
            await fall_asleep(here)
            await here.scene.until(APPLICATIONS, lambda live: "ignoreDifferences" in live["spec"], "shop")
            await here.scene.client.delete(OVERRIDES.named(SHOP, "evening"))
            await here.scene.until(APPLICATIONS, lambda live: "ignoreDifferences" not in live["spec"], "shop")
            await here.scene.until(ENVIRONMENTS, lambda live: "truces" not in live["status"], "dev")
            assert here.refused == []
    added = {(right.resource, right.verb) for right in given(render(**ON)) - given(render())}
    assert {one for one in added if one[0] == "applications"} == {
        ("applications", verb) for verb in ("get", "list", "patch")
    }
    assert {("applications", verb) for verb in ("get", "list", "patch")} <= {(one.resource, one.verb) for one in used}


async def test_without_it_members_sleep_and_the_status_says_what_may_not_be_done(tmp_path: Path) -> None:
    async with installed(tmp_path) as here:
        await fall_asleep(here)
        told = await here.scene.until(ENVIRONMENTS, lambda live: bool(live["status"].get("gitops")), "dev")
        assert "applications" in told["status"]["gitops"]
        assert "ignoreDifferences" not in (await here.scene.get(APPLICATIONS, "shop"))["spec"]


@pytest.mark.parametrize("account", ["keda-operator", "keda-operator-release"])
def test_the_right_is_given_only_where_it_is_switched_on(account: str) -> None:
    def verbs(**values: Any) -> set[str]:
        return {one.verb for one in given(render(**values), account) if one.resource == "applications"}

    assert verbs() == set()
    assert verbs(**ON) >= {"get", "patch"}
