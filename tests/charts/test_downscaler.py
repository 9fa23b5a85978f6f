"""The rights that `environments.downscalerAnnotations` adds: enough to give back what the program put down, and no more."""

from pathlib import Path

from keda_py.kube.resources import DEPLOYMENTS
from tests.builders import deployment
from tests.charts.installed import SHOP, installed
from tests.charts.rendering import render
from tests.charts.rights import given, noted
from tests.operator.downscaler.builders import marked

OFF = {"environments": {"downscalerAnnotations": False}, "watchNamespace": SHOP}
ON = {"environments": {"downscalerAnnotations": True}, "watchNamespace": SHOP}


async def test_in_one_namespace_the_rights_are_enough_and_each_is_made_use_of(tmp_path: Path) -> None:
    with noted() as used:
        async with installed(tmp_path, **ON) as here:
            await here.scene.create(marked(deployment("web", 0), original_replicas="2"))
            await here.scene.until(DEPLOYMENTS, lambda live: live["spec"]["replicas"] == 2, "web")
            assert here.refused == []
    added = {(right.resource, right.verb) for right in given(render(**ON))}
    added -= {(right.resource, right.verb) for right in given(render(**OFF))}
    assert added == {("deployments", "patch"), ("namespaces", "list"), ("namespaces", "watch")}
    assert added <= {(right.resource, right.verb) for right in used}


def test_another_resource_gets_rights_only_where_it_is_included() -> None:
    included = ["statefulsets", "poddisruptionbudgets"]
    values = {"environments": {"downscalerAnnotations": True, "downscalerIncludeResources": included}}
    added = {(right.resource, right.verb) for right in given(render(**values))}
    added -= {(right.resource, right.verb) for right in given(render())}
    budgets = {("poddisruptionbudgets", verb) for verb in ("list", "watch", "patch")}
    assert added == budgets | {("statefulsets", "patch"), ("namespaces", "list"), ("namespaces", "watch")}
