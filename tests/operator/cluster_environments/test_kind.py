"""A ClusterEnvironment on the embedded cluster: an Environment in each namespace that it selects, kept as it says."""

import pytest

from keda_py.kube.resources import (
    CLUSTER_ENVIRONMENTS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    NAMESPACES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from tests.operator.cluster_environments.builders import (
    TEMPLATE,
    conditions,
    counts,
    named,
    of_namespace,
    own_environment,
    policy,
    populate,
    relabel,
    status,
    switch_on,
)
from tests.operator.environments.builders import events, refusing, starting, until
from tests.worlds.world import World


@pytest.fixture
async def cluster(world: World) -> World:
    await switch_on(world)
    return world


async def test_each_namespace_that_it_selects_sleeps_and_wakes_by_its_template(cluster: World) -> None:
    await populate(cluster, "shop", "blog")
    await cluster.create(policy())
    await cluster.seconds(10)
    assert counts(cluster) == {"covered": 2, "awake": 2}
    made = of_namespace(cluster, "shop")
    assert made is not None
    assert made["spec"] == TEMPLATE
    assert made["metadata"]["labels"] == {"keda-py.dev/cluster-environment": "office"}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("ClusterEnvironment", "office", True)
    await until(cluster, 20, "12:06")
    assert [cluster.replicas("web", namespace=name) for name in ("shop", "blog")] == [0, 0]
    assert counts(cluster) == {"covered": 2, "asleep": 2}
    await until(cluster, 20, "12:12")
    assert [cluster.replicas("web", namespace=name) for name in ("shop", "blog")] == [3, 3]
    assert counts(cluster) == {"covered": 2, "awake": 2}


async def test_a_namespace_whose_members_cannot_be_scaled_down_needs_a_person_until_they_can(cluster: World) -> None:
    await populate(cluster, "shop", "blog")
    await cluster.create(policy(), refusing("apps", "deployments/scale"))
    await until(cluster, 20, "12:06")
    assert counts(cluster) == {"covered": 2, "fallingAsleep": 2}
    assert conditions(cluster)["Healthy"].startswith("2 namespaces need a person; the first is blog: Deployment/web: ")
    (first, _) = status(cluster)["needsPerson"]
    assert (first["namespace"], first["reason"]) == ("blog", "WriteFailed")
    assert first["message"].startswith("Deployment/web: it is being scaled down; the last try failed: ")
    await cluster.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, "no", namespace="")
    await cluster.seconds(90)
    assert counts(cluster) == {"covered": 2, "asleep": 2}
    assert conditions(cluster)["Healthy"] == "True"


async def test_a_new_namespace_is_covered_within_five_seconds(cluster: World) -> None:
    await cluster.create(policy())
    await cluster.seconds(10)
    await cluster.create(named("late"))
    await cluster.seconds(5)
    assert of_namespace(cluster, "late") is not None
    await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    await cluster.seconds(5)
    assert of_namespace(cluster, "other") is None
    await relabel(cluster, "other", sleeps="yes")
    await cluster.seconds(5)
    assert of_namespace(cluster, "other") is not None


async def test_a_namespace_that_loses_its_label_has_every_count_back_before_the_environment_goes(
    cluster: World,
) -> None:
    await populate(cluster, "shop")
    await cluster.create(policy())
    await until(cluster, 20, "12:06")
    assert cluster.replicas("web", namespace="shop") == 0
    seen: list[int] = []
    cluster.listen(
        lambda event: (
            seen.append(cluster.replicas("web", namespace="shop"))
            if event.type == "DELETED" and event.resource.plural == "environments"
            else None
        )
    )
    await relabel(cluster, "shop", sleeps=None)
    await cluster.seconds(60)
    assert seen == [3]
    assert of_namespace(cluster, "shop") is None
    assert counts(cluster) == {}


async def test_its_deletion_gives_every_count_back(cluster: World) -> None:
    await populate(cluster, "shop")
    await cluster.create(policy())
    await until(cluster, 20, "12:06")
    await cluster.delete(CLUSTER_ENVIRONMENTS, "office")
    await cluster.seconds(60)
    assert (of_namespace(cluster, "shop"), cluster.replicas("web", namespace="shop")) == (None, 3)


async def test_an_edit_is_put_back_with_an_event_and_an_environment_that_is_deleted_comes_back(cluster: World) -> None:
    told = events(cluster)
    await populate(cluster, "shop")
    await cluster.create(policy())
    await cluster.seconds(10)
    await cluster.patch(ENVIRONMENTS, {"spec": {"grace": "9h", "maxLead": "1m"}}, "office", "shop")
    await cluster.seconds(5)
    assert cluster.get(ENVIRONMENTS, "office", "shop")["spec"] == TEMPLATE
    assert told.count(("Warning", "EnvironmentPutBack")) == 1
    await cluster.delete(ENVIRONMENTS, "office", "shop")
    await cluster.seconds(30)
    assert cluster.get(ENVIRONMENTS, "office", "shop")["spec"] == TEMPLATE


async def test_a_changed_template_reaches_every_namespace_and_is_no_edit(cluster: World) -> None:
    told = events(cluster)
    await populate(cluster, "shop", "blog")
    await cluster.create(policy())
    await cluster.seconds(10)
    await cluster.patch(CLUSTER_ENVIRONMENTS, {"spec": {"template": {"grace": "1m"}}}, "office")
    await cluster.seconds(5)
    specs = [cluster.get(ENVIRONMENTS, "office", name)["spec"] for name in ("shop", "blog")]
    assert specs == [TEMPLATE | {"grace": "1m"}] * 2
    assert ("Warning", "EnvironmentPutBack") not in told


async def test_an_environment_of_its_own_is_in_force_instead_and_both_say_so(cluster: World) -> None:
    await populate(cluster, "shop", "blog")
    await cluster.create(own_environment("blog"))
    await cluster.create(policy())
    await cluster.seconds(10)
    assert of_namespace(cluster, "blog") is None
    assert status(cluster)["own"] == ["blog"]
    assert conditions(cluster)["OwnEnvironments"] == "Environments of their own are in force in blog (mine)"
    await cluster.create(own_environment("shop"))
    await cluster.seconds(30)
    assert of_namespace(cluster, "shop") is None
    assert counts(cluster) == {"own": 2}
    await cluster.delete(ENVIRONMENTS, "mine", "shop")
    await cluster.seconds(30)
    assert of_namespace(cluster, "shop") is not None


async def test_of_two_on_one_namespace_the_older_covers_it_and_the_younger_says_so(cluster: World) -> None:
    await populate(cluster, "shop")
    await cluster.create(policy("first"))
    await cluster.seconds(5)
    await cluster.create(policy("second"))
    await cluster.seconds(10)
    assert (counts(cluster, "first"), counts(cluster, "second")) == ({"covered": 1, "awake": 1}, {"older": 1})
    expected = "older ClusterEnvironments cover shop (first); select other namespaces"
    assert conditions(cluster, "second")["Conflict"] == expected
    await until(cluster, 20, "12:06")
    await cluster.delete(CLUSTER_ENVIRONMENTS, "first")
    await cluster.seconds(60)
    assert of_namespace(cluster, "shop", "first") is None
    assert of_namespace(cluster, "shop", "second") is not None


async def test_kube_system_and_the_operators_own_namespace_are_never_covered_which_is_said(cluster: World) -> None:
    own = cluster.operator.assembly
    assert own is not None
    await cluster.create(policy(namespaceSelector={}))
    await cluster.seconds(10)
    for name in ("kube-system", "keda"):
        assert of_namespace(cluster, name) is None
    said = conditions(cluster)["Protected"]
    assert "kube-system" in said
    assert "name them in spec.exclude" in said
    names = ["kube-system", "kube-public", "kube-node-lease", "keda"]
    exclude = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": names}]}
    await cluster.patch(CLUSTER_ENVIRONMENTS, {"spec": {"exclude": exclude}}, "office")
    await cluster.seconds(5)
    assert "Protected" not in conditions(cluster)


async def test_an_invalid_one_says_what_to_mend_and_its_environments_stay(cluster: World) -> None:
    await populate(cluster, "shop")
    await cluster.create(policy())
    await cluster.seconds(10)
    await cluster.patch(CLUSTER_ENVIRONMENTS, {"spec": {"template": {"grace": "soon"}}}, "office")
    await cluster.seconds(5)
    assert conditions(cluster)["Valid"].startswith("spec.template.grace: 'soon' is not a duration")
    assert cluster.get(ENVIRONMENTS, "office", "shop")["spec"] == TEMPLATE


async def test_a_namespace_that_is_being_deleted_gets_no_environment(cluster: World) -> None:
    await populate(cluster, "shop")
    await cluster.create(policy())
    await cluster.seconds(10)
    await cluster.delete(NAMESPACES, "shop")
    await cluster.seconds(60)
    assert of_namespace(cluster, "shop") is None
    assert counts(cluster) == {}


async def test_a_namespace_that_fights_or_fails_needs_a_person_by_name(cluster: World) -> None:
    await populate(cluster, "shop", "blog")
    await cluster.create(policy(template={"calendarRef": {"name": "hours"}}))
    await cluster.seconds(10)
    assert counts(cluster) == {"covered": 2, "failed": 2}
    assert [(one["namespace"], one["reason"]) for one in status(cluster)["needsPerson"]] == [
        ("blog", "CalendarInvalid"),
        ("shop", "CalendarInvalid"),
    ]


async def test_nothing_is_written_while_nothing_changes(cluster: World) -> None:
    await populate(cluster, "shop", "blog")
    await cluster.create(policy())
    await cluster.seconds(20)
    written = [
        cluster.writes_of(CLUSTER_ENVIRONMENTS, "office", ""),
        cluster.writes_of(ENVIRONMENTS, "office", "shop"),
    ]
    await cluster.seconds(60)
    assert written == [[], []]


async def test_without_the_flag_nothing_is_watched_or_created(world: World) -> None:
    await populate(world, "shop")
    await world.create(policy())
    await world.seconds(10)
    assert of_namespace(world, "shop") is None


async def test_shared_services_wake_first_and_fall_asleep_last(cluster: World) -> None:
    await cluster.create(named("shared", tier="shared"))
    await cluster.create(starting("web", 3, 40), namespace="shared")
    await populate(cluster, "shop")
    order = [{"name": "shared", "selector": {"matchLabels": {"tier": "shared"}}, "timeout": "2m"}]
    await cluster.create(policy(order=order))
    await until(cluster, 20, "12:02")
    slept: list[str] = []

    def hear(event: object) -> None:
        for name in ("shared", "shop"):
            if cluster.replicas("web", namespace=name) == 0 and name not in slept:
                slept.append(name)

    cluster.listen(hear)
    await until(cluster, 20, "12:07")
    assert slept == ["shop", "shared"]
    await cluster.seconds(200)
    assert cluster.clock.now().minute == 10
    assert cluster.replicas("web", namespace="shared") == 3
    assert cluster.replicas("web", namespace="shop") == 0, "shared takes 40 s"
    because = cluster.get(ENVIRONMENTS, "office", "shop")["status"]["because"]
    assert because.startswith("it waits for shared, until 12:12 UTC at most")
    await cluster.seconds(60)
    assert cluster.replicas("web", namespace="shop") == 3
    assert status(cluster)["groups"] == [
        {"name": "shared", "awake": 1, "total": 1},
        {"name": "rest", "awake": 1, "total": 1},
    ]


async def test_a_group_that_does_not_get_ready_delays_the_others_by_its_timeout(cluster: World) -> None:
    await cluster.create(named("shared", tier="shared"))
    await cluster.create(starting("web", 3, 3600), namespace="shared")
    await populate(cluster, "shop")
    order = [{"name": "shared", "selector": {"matchLabels": {"tier": "shared"}}, "timeout": "1m"}]
    await cluster.create(policy(order=order))
    await until(cluster, 20, "12:09")
    assert cluster.replicas("web", namespace="shop") == 0
    await cluster.seconds(100)
    assert cluster.replicas("web", namespace="shop") == 0
    await cluster.seconds(30)
    assert cluster.get(DEPLOYMENTS, "web", "shop")["spec"]["replicas"] == 3
