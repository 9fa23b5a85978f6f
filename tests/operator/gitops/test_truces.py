"""An Environment with `gitops.argocd: IgnoreReplicas` sleeps under an Application that heals itself."""

from typing import Any

import pytest

from keda_py.environments.release import find, release_all
from keda_py.kube.resources import APPLICATIONS, DEPLOYMENTS, ENVIRONMENTS, OVERRIDES, Obj, Resource
from tests.builders import deployment, environment, obj, override
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.operator.gitops.argo import DEFINITION, application, definition, healing
from tests.worlds.world import World

GIT = {"web": 3, "api": 2}
PEACE = {"argocd": "IgnoreReplicas"}
RESPECT = "RespectIgnoreDifferences=true"
ALWAYS: dict[str, Any] = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
WEEK: dict[str, Any] = {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]}
ENTRIES = [
    {"group": "apps", "kind": "Deployment", "name": name, "namespace": "default", "jsonPointers": ["/spec/replicas"]}
    for name in sorted(GIT)
]


async def populate(world: World, *, gitops: Obj | None, calendar: Obj, **spec: Any) -> Obj:
    """Create the Deployments, their Application and the Environment; return the Application's spec."""
    await world.cluster.apply([DEFINITION])
    made = await world.create(application(GIT, **spec))
    await world.create(*(deployment(name, count) for name, count in GIT.items()))
    extra: dict[str, Any] = {"gitops": gitops} if gitops else {}
    await world.create(environment(calendar=calendar, **extra))
    found: Obj = made["spec"]
    return found


def spec_of_application(world: World) -> Obj:
    found: Obj = world.get(APPLICATIONS, "shop")["spec"]
    return found


def counts(world: World) -> dict[str, int]:
    return {name: world.replicas(name) for name in GIT}


async def test_self_heal_makes_an_environment_give_in_where_nothing_is_said(world: World) -> None:
    await populate(world, gitops=None, calendar=LUNCH)
    async with healing(world, GIT) as argo:
        await until(world, 20, "12:08")
        assert counts(world) == GIT
        assert condition(world, "Contested") == ("True", "PutBackTwice")
    assert len(argo.put_backs) >= 2


async def test_a_week_of_self_heal_puts_no_count_back(world: World) -> None:
    before = await populate(world, gitops=PEACE, calendar=WEEK)
    async with healing(world, GIT) as argo:
        for day in range(20, 27):
            await until(world, day, "17:59")
            is_weekend = day in (21, 22)
            assert counts(world) == (dict.fromkeys(GIT, 0) if is_weekend else GIT)
            await until(world, day, "18:10")
            await argo.sync()  # a commit in the evening
            await until(world, day, "23:00")
            assert counts(world) == dict.fromkeys(GIT, 0)
            assert status(world)["phase"] == "Asleep"
        await until(world, 27, "09:00")
        assert counts(world) == GIT
        assert argo.put_backs == []
    assert spec_of_application(world) == before
    assert "annotations" not in world.get(APPLICATIONS, "shop")["metadata"]
    assert "truces" not in status(world)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"ignoreDifferences": [{"group": "", "kind": "Secret", "jsonPointers": ["/data"]}]},
        {"syncPolicy": {"automated": {"selfHeal": True}, "syncOptions": ["CreateNamespace=true"]}},
        {"syncPolicy": {"automated": {"selfHeal": True}, "syncOptions": [RESPECT, "CreateNamespace=true"]}},
    ],
    ids=["plain", "with entries", "with options", "with the option"],
)
async def test_the_lines_are_there_while_members_sleep_and_are_taken_back_exactly(world: World, spec: Obj) -> None:
    before = await populate(world, gitops=PEACE, calendar=LUNCH, **spec)
    await until(world, 20, "12:08")
    asleep = spec_of_application(world)
    assert [one for one in asleep["ignoreDifferences"] if one in ENTRIES] == ENTRIES
    assert RESPECT in asleep["syncPolicy"]["syncOptions"]
    assert [one["application"] for one in status(world)["truces"]] == ["default/shop"]
    await until(world, 20, "12:15")
    assert counts(world) == GIT
    assert spec_of_application(world) == before
    assert "truces" not in status(world)


async def test_what_a_user_wrote_meanwhile_stays(world: World) -> None:
    await populate(world, gitops=PEACE, calendar=LUNCH)
    await until(world, 20, "12:08")
    own = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/paused"]}
    entries = [own, *spec_of_application(world)["ignoreDifferences"]]
    await world.patch(APPLICATIONS, {"spec": {"ignoreDifferences": entries, "project": "shop"}}, "shop")
    await until(world, 20, "12:15")
    after = spec_of_application(world)
    assert (after["ignoreDifferences"], after["project"]) == ([own], "shop")


async def test_a_count_that_is_ignored_already_changes_no_application(world: World) -> None:
    ignored = [{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]
    policy = {"automated": {"selfHeal": True}, "syncOptions": [RESPECT]}
    await populate(world, gitops=PEACE, calendar=LUNCH, ignoreDifferences=ignored, syncPolicy=policy)
    version = world.get(APPLICATIONS, "shop")["metadata"]["resourceVersion"]
    await until(world, 20, "12:15")
    assert world.get(APPLICATIONS, "shop")["metadata"]["resourceVersion"] == version


async def test_an_application_of_an_application_set_is_left_alone_and_the_status_says_why(world: World) -> None:
    await populate(world, gitops=PEACE, calendar=LUNCH)
    await world.cluster.apply([definition("ApplicationSet")])
    kind = Resource(group="argoproj.io", version="v1alpha1", kind="ApplicationSet", plural="applicationsets")
    made = await world.client.create(kind, obj(kind.api_version, kind.kind, "previews", "default"))
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": "previews", "uid": made["metadata"]["uid"]}
    await world.patch(APPLICATIONS, {"metadata": {"ownerReferences": [owner]}}, "shop")
    await until(world, 20, "12:08")
    assert "ignoreDifferences" not in spec_of_application(world)
    assert "generated by ApplicationSet previews" in status(world)["gitops"]
    assert counts(world) == dict.fromkeys(GIT, 0)


async def test_switching_it_off_at_night_takes_the_lines_back(world: World) -> None:
    before = await populate(world, gitops=PEACE, calendar=LUNCH)
    await until(world, 20, "12:07")
    await world.patch(ENVIRONMENTS, {"spec": {"gitops": None}}, "dev")
    await until(world, 20, "12:08")
    assert spec_of_application(world) == before
    assert counts(world) == dict.fromkeys(GIT, 0)


async def test_deleting_the_environment_gives_back_counts_and_lines(world: World) -> None:
    before = await populate(world, gitops=PEACE, calendar=LUNCH)
    await until(world, 20, "12:07")
    await world.delete(ENVIRONMENTS, "dev")
    await until(world, 20, "12:09")
    assert world.find(ENVIRONMENTS, "dev") is None
    assert (counts(world), spec_of_application(world)) == (GIT, before)


async def test_a_cluster_without_argo_cd_sleeps_as_usual(world: World) -> None:
    await world.create(deployment("web", 3), environment(calendar=LUNCH, gitops=PEACE))
    await until(world, 20, "12:08")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")
    assert "gitops" not in status(world)


async def test_the_last_of_two_environments_takes_the_sync_option_back(world: World) -> None:
    long = {"timeZone": "UTC", "hours": [{"from": "08:00", "to": "12:04"}, {"from": "12:20", "to": "18:00"}]}
    await world.cluster.apply([DEFINITION])
    before = (await world.create(application(GIT)))["spec"]
    for name, count in GIT.items():
        await world.create(deployment(name, count))
        await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"part": name}}}, name)
    for name, hours in (("web", LUNCH), ("api", long)):
        selector = {"matchLabels": {"part": name}}
        await world.create(environment(name, calendar=hours, gitops=PEACE, selector=selector))
    await until(world, 20, "12:15")
    assert counts(world) == {"web": 3, "api": 0}
    half = spec_of_application(world)
    assert [one["name"] for one in half["ignoreDifferences"]] == ["api"]
    assert half["syncPolicy"]["syncOptions"] == [RESPECT]
    await until(world, 20, "12:25")
    assert spec_of_application(world) == before


async def test_a_status_that_a_tenant_wrote_takes_no_option_of_a_user_and_reaches_no_other_application(
    world: World,
) -> None:
    policy = {"automated": {"selfHeal": True}, "syncOptions": [RESPECT]}
    before = await populate(world, gitops=PEACE, calendar=LUNCH, syncPolicy=policy)
    other = application({"elsewhere": 1})
    other["metadata"]["name"] = "bank"
    await world.create(other)
    version = world.get(APPLICATIONS, "bank")["metadata"]["resourceVersion"]
    await until(world, 20, "12:03")
    await world.operator.stop()
    claimed = [
        {"application": f"default/{name}", "entries": ["apps|Deployment|web|replicas", "odd"]}
        for name in ("bank", "shop", "missing", "")
    ]
    path = ENVIRONMENTS.named("default", "dev", "status")
    await world.client.patch(path, {"status": {"truces": claimed}})
    await world.operator.start()
    await until(world, 20, "12:15")
    assert counts(world) == GIT
    assert spec_of_application(world) == before
    assert world.get(APPLICATIONS, "bank")["metadata"]["resourceVersion"] == version


async def test_what_sleeps_is_released_by_hand_with_its_lines(world: World) -> None:
    before = await populate(world, gitops=PEACE, calendar=LUNCH)
    await until(world, 20, "12:07")
    await world.operator.stop()
    done = await release_all(world.client, await find(world.client, "default", "dev"))
    assert [(one.member, one.failed) for one in done if "Application" in one.member] == [
        ("Application default/shop", False)
    ]
    assert (counts(world), spec_of_application(world)) == (GIT, before)


async def test_asleep_again_right_after_a_wake_it_does_not_believe_a_list_from_before(world: World) -> None:
    await world.cluster.apply([DEFINITION])
    await world.create(application(GIT))
    for name, count in GIT.items():
        await world.create(deployment(name, count))
        await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"part": name}}}, name)
        selector = {"matchLabels": {"part": name}}
        await world.create(environment(name, calendar=ALWAYS, gitops=PEACE, selector=selector))

    async def fall_asleep(name: str) -> None:
        target = {"kind": "Environment", "name": name}
        await world.create(override(name, state="Asleep", target=target, **{"for": "1h"}))
        await world.seconds(8)

    async with healing(world, GIT) as argo:
        await fall_asleep("web")
        await world.seconds(60)
        await fall_asleep("api")  # lists the Application, with the line of the other
        await world.delete(OVERRIDES, "web")
        await world.seconds(8)
        assert counts(world) == {"web": 3, "api": 0}
        await fall_asleep("web")
        assert counts(world) == dict.fromkeys(GIT, 0)
        assert argo.put_backs == []
