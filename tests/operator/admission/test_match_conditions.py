"""The API server asks the webhook about what is judged, and about nothing else."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.clock import SystemClock
from keda_py.errors import Forbidden
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import OVERRIDES, SCALED_OBJECTS, VALIDATING_WEBHOOK_CONFIGURATIONS, Obj
from keda_py.localkube.model.calls import ApiAnswer, Call
from keda_py.operator.admission.match_conditions import CHANGED, knows_match_conditions, match_conditions
from keda_py.operator.registration import Registration
from keda_py.schema.cel import compile_rule
from tests.builders import cron, override
from tests.faults.faulty import Serve, serve_faulty
from tests.operator.admission.guarded import a_guarded_world, scheduled
from tests.waiting import eventually
from tests.worlds.world import open_world

COUNT = 'controller_runtime_webhook_requests_total{code="200",webhook="/validate-keda-sh-v1alpha1-scaledobject"}'


async def test_an_update_of_nothing_that_is_judged_is_not_asked_about(tmp_path: Path) -> None:
    async with a_guarded_world(tmp_path) as guarded:
        world = guarded.world
        await world.create(scheduled("so"))
        path = SCALED_OBJECTS.named(world.namespace, "so")

        async def asked() -> float:
            return float(await guarded.metric(COUNT) or 0)

        async def are(count: float) -> bool:
            return await asked() == count

        await eventually(lambda: "finalizers" in world.find(SCALED_OBJECTS, "so")["metadata"])
        await eventually(lambda: are(2))  # its creation, and the label that the operator gives it
        finalizers = world.find(SCALED_OBJECTS, "so")["metadata"]["finalizers"]
        await world.client.patch(path, {"metadata": {"finalizers": [*finalizers, "x.example/y"]}}, PatchKind.MERGE)
        await world.client.patch(path, {"metadata": {"finalizers": finalizers}}, PatchKind.MERGE)
        for change in ({"labels": {"team": "a"}}, {"annotations": {"note": "x"}}):
            await world.client.patch(path, {"metadata": change}, PatchKind.MERGE)
        with pytest.raises(Forbidden, match="defined multiple times"):
            await world.client.patch(path, {"spec": {"triggers": [{**cron(), "name": "twice"}] * 2}}, PatchKind.MERGE)

        async def denial_is_counted() -> bool:  # and so is what was answered before
            return bool(await guarded.metric("keda_webhook_scaled_object_validation_errors_total"))

        await eventually(denial_is_counted)
        assert await asked() == 5, "and a label, an annotation, and the spec"


async def test_an_edit_of_the_author_of_an_override_is_still_judged(tmp_path: Path) -> None:
    async with a_guarded_world(tmp_path) as guarded:
        world = guarded.world
        await world.create(override("evening", state="Awake", **{"for": "3h"}))
        forged = {"metadata": {"annotations": {"keda-py.dev/requested-by": "jana"}}}
        with pytest.raises(Forbidden, match="is another user"):
            await world.client.patch(OVERRIDES.named(world.namespace, "evening"), forged, PatchKind.MERGE)


EMPTY: Obj = {"metadata": {}}
FULL: Obj = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"x": [1]}}


@pytest.mark.parametrize(
    ("old", "new", "is_asked"),
    [
        pytest.param(FULL, FULL, False, id="the same"),
        pytest.param(EMPTY, EMPTY, False, id="nothing"),
        pytest.param(FULL, FULL | {"status": {"x": 1}}, False, id="a status"),
        pytest.param(FULL, FULL | {"spec": {"x": [2]}}, True, id="another spec"),
        pytest.param(FULL, {"metadata": FULL["metadata"]}, True, id="no spec any more"),
        pytest.param(EMPTY, EMPTY | {"spec": {}}, True, id="a first spec"),
        pytest.param(FULL, FULL | {"metadata": {"labels": {"a": "b"}}}, True, id="an annotation less"),
        pytest.param(FULL, FULL | {"metadata": FULL["metadata"] | {"labels": {"a": "c"}}}, True, id="another label"),
        pytest.param(EMPTY, FULL, True, id="everything"),
    ],
)
def test_the_expression_has_a_value_for_every_pair_of_versions(old: Obj, new: Obj, is_asked: bool) -> None:
    scope: dict[str, Any] = {"object": new, "oldObject": old, "request": {"operation": "UPDATE"}}
    assert compile_rule(CHANGED)(scope) is is_asked
    assert compile_rule(CHANGED)({"object": new, "oldObject": None, "request": {"operation": "CREATE"}}) is True


def test_the_operators_account_is_passed_over_for_updates_alone() -> None:
    _, by_others = match_conditions("system:serviceaccount:keda:keda-operator")
    holds = compile_rule(by_others["expression"])

    def asked(operation: str, account: str) -> bool:
        user = {"username": f"system:serviceaccount:{account}"}
        return bool(holds({"request": {"operation": operation, "userInfo": user}}))

    assert not asked("UPDATE", "keda:keda-operator")
    assert asked("CREATE", "keda:keda-operator")
    assert asked("UPDATE", "shop:keda-operator")


@pytest.mark.parametrize(
    ("minor", "knows"), [("27", False), ("28", True), ("28+", True), ("36", True), ("", False), ("x", False)]
)
async def test_the_api_server_tells_whether_it_knows_conditions(tmp_path: Path, minor: str, knows: bool) -> None:
    async def older(call: Call, serve: Serve) -> ApiAnswer:
        return ApiAnswer(body={"major": "1", "minor": minor})

    async with open_world(tmp_path, tls=True) as world, serve_faulty(world.cluster) as (api, url):
        config = yaml.safe_load(world.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = url
        kubeconfig = tmp_path / "older"
        kubeconfig.write_text(yaml.safe_dump(config))
        async with KubeClient(SystemClock(), str(kubeconfig)) as client:
            assert await knows_match_conditions(client), "the embedded cluster itself"
            with api.failing(older, lambda call: call.path == "/version"):
                assert await knows_match_conditions(client) is knows


@pytest.mark.parametrize("knows", [False, True])
def test_only_an_api_server_that_knows_conditions_is_sent_them(knows: bool) -> None:
    registration = Registration(
        namespace="keda",
        service="keda",
        url="https://192.0.2.1:6443",
        webhook_name="keda-admission",
        webhook_url="https://192.0.2.1:9443",
        has_conditions=knows,
    )
    (webhooks,) = [
        body["webhooks"]
        for resource, body in registration.objects(b"")
        if resource == VALIDATING_WEBHOOK_CONFIGURATIONS
    ]
    assert {"matchConditions" in one for one in webhooks} == {knows}
