"""Environment of the target's container: what is read, in which order, and the effect of missing objects."""

from typing import Any

import pytest

from keda_py.auth.lookup.container_env import expand
from keda_py.errors import ConfigError, NotFound
from keda_py.kube.resources import Obj
from keda_py.net.secret_texts import as_secrets
from tests.auth.resolving import redis_trigger, resolve
from tests.builders import authentication, config_map, deployment, secret
from tests.worlds.world import World

ENV = {"A": "1", "B": "$(A)", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        pytest.param("plain", "plain", id="nothing to expand"),
        pytest.param("x$(A)y", "x1y", id="a known name"),
        pytest.param("$(A)$(A)", "11", id="twice"),
        pytest.param("$(NOPE)", "$(NOPE)", id="an unknown name stays"),
        pytest.param("$(EMPTY)|", "|", id="a known name without a value"),
        pytest.param("$$(A)", "$(A)", id="an escaped reference"),
        pytest.param("$$$(A)", "$1", id="an escape before a reference"),
        pytest.param("$$$$", "$$", id="two escapes"),
        pytest.param("$A ${A} $", "$A ${A} $", id="a dollar without parentheses"),
        pytest.param("$(A", "$(A", id="an open parenthesis"),
        pytest.param("$(B)", "$(A)", id="a value is not expanded again"),
        pytest.param("$(A $(A))", "$(A $(A))", id="parentheses do not nest"),
    ],
)
def test_references_are_expanded(text: str, expanded: str) -> None:
    assert expand(text, as_secrets(ENV)).get_secret_value() == expanded


def key_of(kind: str, name: str, key: str, **more: Any) -> Obj:
    return {"valueFrom": {kind: {"name": name, "key": key, **more}}}


SOURCES = (secret("creds", user="bob", password="s3cret"), config_map("conf", HOST="redis", PORT="6379"))


CONTAINERS: dict[str, tuple[Obj, dict[str, str]]] = {
    "a literal": ({"env": [{"name": "A", "value": "1"}]}, {"A": "1"}),
    "a literal that uses one before it": (
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}]},
        {"A": "1", "B": "12"},
    ),
    "a literal cannot use one after it": (
        {"env": [{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}]},
        {"A": "1", "B": "$(A)"},
    ),
    "a ConfigMap": ({"envFrom": [{"configMapRef": {"name": "conf"}}]}, {"HOST": "redis", "PORT": "6379"}),
    "a Secret with a prefix": (
        {"envFrom": [{"secretRef": {"name": "creds"}, "prefix": "DB_"}]},
        {"DB_user": "bob", "DB_password": "s3cret"},
    ),
    "env overrides envFrom and may use it": (
        {"envFrom": [{"configMapRef": {"name": "conf"}}], "env": [{"name": "HOST", "value": "$(HOST):$(PORT)"}]},
        {"HOST": "redis:6379", "PORT": "6379"},
    ),
    "a Secret's key": ({"env": [{"name": "P", **key_of("secretKeyRef", "creds", "password")}]}, {"P": "s3cret"}),
    "a ConfigMap's key": ({"env": [{"name": "H", **key_of("configMapKeyRef", "conf", "HOST")}]}, {"H": "redis"}),
    "a key that is missing": ({"env": [{"name": "H", **key_of("configMapKeyRef", "conf", "NOPE")}]}, {"H": ""}),
    "an optional object that is missing": (
        {"envFrom": [{"configMapRef": {"name": "nope", "optional": True}}], "env": [{"name": "A", "value": "1"}]},
        {"A": "1"},
    ),
    "a key of an optional object that is missing": (
        {
            "envFrom": [{"configMapRef": {"name": "conf"}}],
            "env": [
                {"name": "P", **key_of("secretKeyRef", "nope", "x", optional=True)},
                {"name": "HOST", **key_of("configMapKeyRef", "nope", "x", optional=True)},
            ],
        },
        {"HOST": "redis", "PORT": "6379"},
    ),
    "a field of the pod is skipped": (
        {"env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
        {},
    ),
    "nothing": ({}, {}),
}
"""What stands in a container -> its environment."""


async def test_the_environment_of_a_container(world: World) -> None:
    await world.apply(*SOURCES)
    found = {}
    async with world.operator.running():
        for number, (case, (container, _)) in enumerate(CONTAINERS.items()):
            await world.apply(deployment(f"app-{number}", **container))
            found[case] = (await resolve(world, redis_trigger(addressFromEnv="A"), f"app-{number}")).env
    assert found == {case: env for case, (_, env) in CONTAINERS.items()}


async def test_a_variable_that_holds_a_path_is_resolved_too(world: World) -> None:
    await world.apply(*SOURCES, deployment("app", env=[{"name": "KEY_FILE", "value": "/key.json"}]))
    async with world.operator.running():
        found = await resolve(world, redis_trigger(credentialsFromEnvFile="KEY_FILE"))
    assert found.env == {"KEY_FILE": "/key.json"}


MISSING: dict[str, tuple[Obj, str]] = {
    "a Secret": ({"envFrom": [{"secretRef": {"name": "nope"}}]}, 'Secret "nope"'),
    "a ConfigMap": ({"envFrom": [{"configMapRef": {"name": "nope"}}]}, 'ConfigMap "nope"'),
    "a key's": ({"env": [{"name": "A", **key_of("secretKeyRef", "nope", "x")}]}, 'Secret "nope"'),
}
"""What a container refers to and nothing is -> what the error names."""


async def test_a_missing_object_that_is_not_optional_fails_the_build(world: World) -> None:
    async with world.operator.running():
        for number, (case, (container, missing)) in enumerate(MISSING.items()):
            await world.apply(deployment(f"app-{number}", **container))
            with pytest.raises(ConfigError) as refused:
                await resolve(world, redis_trigger(addressFromEnv="A"), f"app-{number}")
            assert f"error resolving secrets for ScaleTarget: {missing}" in str(refused.value), case
            found = await resolve(world, redis_trigger(address="redis:6379"), f"app-{number}")
            assert found.env == {}, f"{case}: nobody asked for it"


async def test_a_container_is_found_by_its_name(working: World) -> None:
    two = deployment("two", env=[{"name": "A", "value": "first"}])
    two["spec"]["template"]["spec"]["containers"].append(
        {"name": "sidecar", "image": "x", "env": [{"name": "A", "value": "second"}]}
    )
    await working.apply(two)
    trigger = redis_trigger(addressFromEnv="A")
    assert (await resolve(working, trigger, "two")).env == {"A": "first"}
    assert (await resolve(working, trigger, "two", envSourceContainerName="sidecar")).env == {"A": "second"}
    with pytest.raises(
        ConfigError, match="couldn't find container with name nope on Target object: it has app, sidecar"
    ):
        await resolve(working, trigger, "two", envSourceContainerName="nope")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
async def test_every_kind_of_workload_has_an_environment(working: World, kind: str) -> None:
    workload = deployment("it", env=[{"name": "A", "value": kind}])
    workload["kind"] = kind
    if kind == "StatefulSet":
        workload["spec"]["serviceName"] = "it"
    await working.apply(workload)
    found = await resolve(working, redis_trigger(addressFromEnv="A"), "it", kind=kind)
    assert found.env == {"A": kind}


async def test_a_custom_resource_with_a_pod_template_has_one_too(working: World) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Rollout", "plural": "rollouts", "singular": "rollout", "listKind": "RolloutList"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    env = [{"name": "A", "value": "1"}]
    like_a_pod = {"template": {"spec": {"containers": [{"name": "app", "env": env}]}}}
    await working.apply(definition)
    for name, spec in (("pod", like_a_pod), ("other", {"template": "text"})):
        meta = {"name": name, "namespace": "default"}
        await working.apply({"apiVersion": "example.com/v1", "kind": "Rollout", "metadata": meta, "spec": spec})
    trigger, kind = redis_trigger(addressFromEnv="A"), {"apiVersion": "example.com/v1", "kind": "Rollout"}
    assert (await resolve(working, trigger, "pod", **kind)).env == {"A": "1"}
    assert (await resolve(working, trigger, "other", **kind)).env == {}
    with pytest.raises(NotFound, match='rollouts "nope" not found'):
        await resolve(working, trigger, "nope", **kind)


async def test_a_target_that_is_missing_fails_the_build(working: World) -> None:
    with pytest.raises(NotFound, match='"nope" not found'):
        await resolve(working, redis_trigger(addressFromEnv="A"), "nope")


async def test_secrets_of_workloads_are_left_alone_where_access_is_restricted(world: World) -> None:
    container = {
        "envFrom": [{"secretRef": {"name": "creds"}}, {"configMapRef": {"name": "conf"}}],
        "env": [{"name": "P", **key_of("secretKeyRef", "creds", "password")}],
    }
    await world.apply(*SOURCES, deployment("app", **container))
    async with world.operator.running({"KEDA_RESTRICT_SECRET_ACCESS": "True"}):
        found = await resolve(world, redis_trigger(addressFromEnv="A"))
    assert found.env == {"HOST": "redis", "PORT": "6379"}


async def test_an_authentication_reads_the_environment_of_any_container(working: World) -> None:
    entries = [
        {"parameter": "a", "name": "PLAIN"},
        {"parameter": "b", "name": "PLAIN", "containerName": "app"},
        {"parameter": "c", "name": "NOPE"},
        {"parameter": "d", "name": "PLAIN", "containerName": "nope"},
    ]
    await working.apply(authentication("auth", env=entries))
    found = await resolve(working, redis_trigger("auth"))
    assert found.auth == {"a": "p", "b": "p", "c": "", "d": ""}
