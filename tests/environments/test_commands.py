"""The commands on a cluster where no operator runs: they read, ask and give back with the rights of their user."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keda_py.clock import FakeClock
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.overriding import Wish, request
from keda_py.environments.release import find, page, release_all
from keda_py.environments.show import look_at_all, look_at_one
from keda_py.errors import ConfigError
from keda_py.explanation.command import ExplainOptions, look
from keda_py.kube.config import context_namespace
from keda_py.kube.resources import CRON_JOBS, ENVIRONMENTS, OVERRIDES, STATEFUL_SETS, Obj
from keda_py.terminal.times import Times
from tests import builders
from tests.builders import cron, cron_job, deployment, environment, scaled_object
from tests.environments.builders import NOW
from tests.operator.environments.builders import labelled
from tests.programs import client
from tests.worlds.world import World, open_world

TIMES = Times(now=NOW)
AT = "2026-11-20T17:00:00Z"
ASLEEP: dict[str, Any] = {
    "phase": "Asleep",
    "ready": "0/4",
    "because": "outside of the hours",
    "nextChange": {"at": "2026-11-23T08:00:00Z", "to": "Awake", "because": "hours"},
    "members": {
        "Deployment/web": {"stage": "Down", "replicas": 3, "since": AT},
        "Deployment/up": {"stage": "Down", "replicas": 3, "since": AT},
        "Deployment/kept": {"stage": "Kept", "replicas": 3, "by": "jana", "since": AT},
        "Deployment/gone": {"stage": "Down", "replicas": 3, "since": AT},
        "StatefulSet/db": {"stage": "Falling", "replicas": 2, "from": 2, "since": AT},
        "ScaledObject/app": {"stage": "Down", "replicas": 4, "since": AT},
        "ScaledObject/lost": {"stage": "Down", "replicas": 1, "since": AT, "workload": "apps/v1/Deployment/orphan"},
        "ScaledObject/gone": {"stage": "Down", "replicas": 1, "since": AT},
        "CronJob/report": {"stage": "Down", "replicas": 1, "since": AT},
    },
}


async def ask(quiet: World, name: str = "", **wish: Any) -> tuple[list[str], Obj]:
    asked = Wish(name=name, **{"state": OverrideState.AWAKE, **wish})
    return await request(quiet.client, "default", asked, TIMES)


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[World]:
    """No operator."""
    async with open_world(tmp_path, clock=FakeClock(NOW)) as quiet:
        yield quiet


async def fall_asleep(quiet: World) -> None:
    """An Environment as an operator left it that is gone."""
    wave = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}]
    suspended = cron_job()
    suspended["spec"]["suspend"] = True
    await quiet.create(
        *(
            deployment(name, count)
            for name, count in {"web": 0, "up": 5, "kept": 3, "app": 0, "free": 0, "orphan": 0}.items()
        ),
        labelled(builders.workload("StatefulSet", "db", 0), wave="data"),
        scaled_object(cron()),
        suspended,
        environment(waves=wave),
    )
    path = ENVIRONMENTS.named("default", "dev", "status")
    await quiet.client.patch(path, {"status": ASLEEP})


async def test_a_page_tells_of_each_member_what_it_does_and_what_holds_it(quiet: World) -> None:
    await fall_asleep(quiet)
    text, body = await look_at_one(quiet.client, "default", "dev", TIMES, 120)
    told = {one["member"]: (one["wave"], one["state"], one["why"]) for one in body["members"]}
    assert body["members"][0]["member"] == "StatefulSet/db"
    assert told == {
        "StatefulSet/db": ("data", "falling asleep", "2 to come back"),
        "CronJob/report": ("rest", "suspended", ""),
        "Deployment/free": ("rest", "ready", ""),
        "Deployment/orphan": ("rest", "ready", ""),
        "Deployment/kept": ("rest", "kept up", "jana scaled it up; it stays until the next wake"),
        "Deployment/up": ("rest", "up", "3 to come back"),
        "Deployment/web": ("rest", "asleep", "3 to come back"),
        "ScaledObject/app": ("rest", "asleep", "4 to come back"),
    }
    assert "next: wakes on Mon 23 Nov at 08:00 UTC, in 2 d 14 h: hours" in text.plain
    _, lines = await look_at_all(quiet.client, "", TIMES, 120)
    assert [(line["name"], line["phase"]) for line in lines] == [("dev", "Asleep")]


async def test_release_gives_back_what_was_taken_and_nothing_else_and_lets_a_deleted_one_go(quiet: World) -> None:
    await fall_asleep(quiet)
    finalizers = {"metadata": {"finalizers": ["finalizer.keda.sh"]}}
    await quiet.patch(ENVIRONMENTS, finalizers, "dev")
    planned = await release_all(quiet.client, await find(quiet.client, "", ""), dry_run=True)
    assert (quiet.replicas("web"), len(planned)) == (0, 8)
    done = await release_all(quiet.client, await find(quiet.client, "default", "dev"))
    assert {one.member: one.outcome for one in done} == {
        "Deployment/web": "0 -> 3",
        "Deployment/up": "is left at 5: it was scaled up meanwhile",
        "Deployment/gone": "is gone",
        "StatefulSet/db": "0 -> 2",
        "ScaledObject/app": "0 -> 4",
        "ScaledObject/lost": "0 -> 1",
        "ScaledObject/gone": "is gone",
        "CronJob/report": "runs again",
    }
    counts = {name: quiet.replicas(name) for name in ("web", "up", "kept", "app", "free")}
    assert counts == {"web": 3, "up": 5, "kept": 3, "app": 4, "free": 0}
    assert quiet.replicas("db", STATEFUL_SETS) == 2
    assert quiet.get(CRON_JOBS, "report")["spec"]["suspend"] is False
    assert "delete the Environments" in page(done, 100, dry_run=False).plain
    await quiet.delete(ENVIRONMENTS, "dev")
    assert quiet.find(ENVIRONMENTS, "dev") is not None
    again = await release_all(quiet.client, await find(quiet.client, "default", "dev"))
    assert not any(one.failed for one in again)
    assert quiet.find(ENVIRONMENTS, "dev") is None


async def test_wake_makes_an_override_that_names_its_user(quiet: World) -> None:
    await quiet.create(environment())
    told, made = await ask(quiet, until="22:00", reason="release night")
    stored = quiet.get(OVERRIDES, made["metadata"]["name"])
    assert stored["metadata"]["name"].startswith("dev-wake-")
    assert stored["metadata"]["annotations"] == {"keda-py.dev/requested-by": "kubernetes-admin"}
    assert stored["spec"] == {
        "state": "Awake",
        "target": {"kind": "Environment", "name": "dev"},
        "until": "2026-11-20T22:00:00Z",
        "reason": "release night",
    }
    assert told[-1].startswith(f"Override {made['metadata']['name']} is created by kubernetes-admin")
    _, made = await ask(quiet, "deploy/web", state=OverrideState.HOLD, length="3h", begin="tomorrow 08:00")
    assert made["spec"] == {
        "state": "Hold",
        "target": {"kind": "Deployment", "name": "web"},
        "from": "2026-11-21T08:00:00Z",
        "for": "3h",
    }
    before = len(quiet.all(OVERRIDES, "default"))
    told, made = await ask(quiet, dry_run=True)
    assert (made["spec"]["until"], told[-1]) == ("NextChange", "nothing is created: --dry-run")
    assert len(quiet.all(OVERRIDES, "default")) == before


async def test_what_cannot_be_done_is_refused_with_a_remedy(quiet: World) -> None:
    with pytest.raises(ConfigError, match="has no Environment; give another with -n"):
        await ask(quiet)
    await quiet.create(environment(), environment("two"))
    refused = {
        "name one of dev, two": {},
        "no Environment 'prod' in namespace 'default': there are dev, two": {"name": "prod"},
        "'pod/web' names no target": {"name": "pod/web"},
        "--until and --for say the same twice": {"name": "dev", "until": "22:00", "length": "3h"},
        "--until: 'soon' is not a time": {"name": "dev", "until": "soon"},
    }
    for words, wish in refused.items():
        with pytest.raises(ConfigError, match=words):
            await ask(quiet, **wish)
    assert quiet.all(OVERRIDES, "default") == []


async def test_the_program_prints_json_and_names_live_environments_to_a_shell(quiet: World, tmp_path: Path) -> None:
    await quiet.create(environment())
    flags = ("--kubeconfig", str(quiet.kubeconfig))
    found = await run("env", *flags, "-o", "json")
    assert [one["name"] for one in orjson.loads(found)] == ["dev"]
    answer, line = tmp_path / "answer", f"keda-py wake --kubeconfig {quiet.kubeconfig} "
    asking = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "fish"}
    asking |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "COMP_LINE": line, "COMP_POINT": str(len(line))}
    await run(env=asking)
    assert answer.read_text().split() == ["dev"]


async def test_counts_of_members_are_always_there_and_unknown_until_the_operator_has_looked(quiet: World) -> None:
    await quiet.create(environment())
    _, (line,) = await look_at_all(quiet.client, "", TIMES, 120)
    assert (line["membersReady"], line["membersTotal"]) == (None, None)
    await quiet.client.patch(ENVIRONMENTS.named("default", "dev", "status"), {"status": {"phase": "Awake"}})
    _, (line,) = await look_at_all(quiet.client, "", TIMES, 120)
    assert (line["membersReady"], line["membersTotal"]) == (0, 0)


async def test_an_environment_without_members_says_so_on_its_page_and_in_the_table(quiet: World) -> None:
    await quiet.create(environment(selector={"matchLabels": {"tier": "none"}}))
    status = {"status": {"phase": "Awake", "ready": "0/0", "because": "hours"}}
    await quiet.client.patch(ENVIRONMENTS.named("default", "dev", "status"), status)
    page, _ = await look_at_one(quiet.client, "default", "dev", TIMES, 200)
    table, _ = await look_at_all(quiet.client, "", TIMES, 200)
    for told in (page.plain, table.plain):
        assert "it has no member: its namespace has no ScaledObject, Deployment, StatefulSet or CronJob that" in told


async def run(*arguments: str, env: dict[str, str] | None = None) -> str:
    return (await asyncio.to_thread(client.run, arguments, env={**os.environ, **(env or {})})).stdout


def test_the_namespace_is_that_of_the_context(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    context: dict[str, Any] = {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "contexts": [context], "current-context": "here"}
    config |= {"clusters": [{"name": "c", "cluster": {}}], "users": [{"name": "u", "user": {}}]}
    file.write_bytes(orjson.dumps(config))
    assert context_namespace(str(file)) == "shop"
    context["context"] = {"cluster": "c", "user": "u"}
    file.write_bytes(orjson.dumps(config))
    assert context_namespace(str(file)) == "default"
    file.write_text("{")
    with pytest.raises(ConfigError, match="correct the file"):
        context_namespace(str(file))


async def test_the_page_of_an_environment_repeats_what_validate_warns_of_it(quiet: World) -> None:
    """Hours, waves and jobs alike, and not what is another Environment's."""
    backwards = {"timeZone": "UTC", "hours": [{"days": "Mon-Fri", "from": "19:30", "to": "08:30"}]}
    waves = [{"name": "data", "selector": {"matchLabels": {"no": "such"}}}]
    apart = {"matchLabels": {"team": "other"}}
    await quiet.create(
        environment(calendar=backwards, waves=waves, exclude=apart),
        environment("other", selector=apart),
        cron_job("backup", "0 12 * * 1-5"),
        labelled(cron_job("never", "0 3 * * *"), team="other"),
    )
    text, body = await look_at_one(quiet.client, "default", "dev", TIMES, 400)
    codes = [one.rpartition("[")[2] for one in body["warnings"]]
    assert sorted(codes) == ["hours-swapped]", "job-never-runs]", "wave-empty]"]
    assert "CronJob default/backup" in text.plain
    assert "default/never" not in text.plain
    view = await look(quiet.client, ExplainOptions(object="env/dev", namespace="default"))
    assert [line for line in view.lines if line.startswith("warning: ")] == [
        f"warning: {one}" for one in body["warnings"]
    ]


async def test_an_environment_without_mistakes_has_no_warnings(quiet: World) -> None:
    await quiet.create(environment(), deployment(), cron_job("noon", "0 12 * * 1-5"))
    _, body = await look_at_one(quiet.client, "default", "dev", TIMES, 400)
    assert body["warnings"] == []
